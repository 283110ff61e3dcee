"""What an expression does, as a text: equal for expressions that do the same, and the same in every process."""

from __future__ import annotations

from continua.algebra.expr import Call, Case, Cast, Column, Expr, InList, Literal, Now


def identity(expr: Expr) -> str:
    """The text of an expression without subqueries.

    What is known of NULLs is not in it, since the work is the same without; nor are the types of columns, which their
    input has. Long conditions are deep trees, so it is written without recursion.
    """
    written: list[str] = []
    open_parts: list[Expr | str] = [expr]
    while open_parts:
        match open_parts.pop():
            case str() as text:
                written.append(text)
            case Column(name=name):
                written.append(f"[{name}]")
            case Literal(value=value, type=kind):
                written.append(f"{value!r}:{kind},")
            case Call(function=function, arguments=arguments, type=kind):
                written.append(f"{function}:{kind}(")
                open_parts.append(")")
                open_parts.extend(reversed(arguments))
            case Cast(operand=operand, type=kind):
                written.append(f"CAST:{kind}(")
                open_parts += [")", operand]
            case Case(branches=branches, otherwise=otherwise, type=kind):
                written.append(f"CASE:{kind}(")
                open_parts += [")"] if otherwise is None else [")", otherwise, "ELSE "]
                open_parts.extend(part for branch in reversed(branches) for part in reversed(branch))
            case InList(operand=operand, items=items):
                written.append("IN(")
                open_parts.append(")")
                open_parts.extend(reversed(items))
                open_parts.append(operand)
            case Now(type=kind):
                written.append(f"NOW:{kind},")
            case other:
                raise TypeError(f"{type(other).__name__} stands in an expression")
    return "".join(written)
