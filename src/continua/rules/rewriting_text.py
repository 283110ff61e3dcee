"""What the rules did to a plan, for readers and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from continua.algebra.printer import to_json, tree
from continua.rules.driver import Rewriting, Rewritten


def rewrites_text(rewritten: Rewritten) -> str:
    """Each step with its rule, its law and the part of the plan before and after; then the plan that is run."""
    lines = [line for number, step in enumerate(rewritten.steps, start=1) for line in _step(number, step)]
    if not lines:
        lines.append("no rule changes the plan")
    lines += [notice.message for notice in rewritten.notices]
    return "\n".join([*lines, "plan", *_indented(tree(rewritten.plan))])


def rewrites_json(rewritten: Rewritten) -> dict[str, object]:
    """The same as an object."""
    return {
        "steps": [
            {
                "rule": step.rule.name,
                "law": step.rule.law,
                "conditions": list(step.rule.conditions),
                "before": to_json(step.before),
                "after": to_json(step.after),
            }
            for step in rewritten.steps
        ],
        "plan": to_json(rewritten.plan),
        "ran_out": rewritten.ran_out,
        "milliseconds": {name: round(1000 * s, 3) for name, s in sorted(rewritten.seconds.items())},
    }


def _step(number: int, step: Rewriting) -> Iterator[str]:
    yield f"{number}. {step.rule.name} ({step.rule.law})"
    yield "   before"
    yield from _indented(tree(step.before), 5)
    yield "   after"
    yield from _indented(tree(step.after), 5)


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
