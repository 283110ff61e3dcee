"""Each guard of a law cites the condition that it checks, and each condition is cited: ``# (2)`` in the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import pkgutil
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from continua.rules import laws
from continua.rules.rule import Rule

MODULES = [module.name for module in pkgutil.iter_modules(laws.__path__)]
_CITATION = re.compile(r"# \(\d+\)(, \(\d+\))*(: \S.*)?")
_LIKE_A_CITATION = re.compile(r"#\s*\(?\d|#.*\bconditions? \d")


@dataclass(frozen=True)
class Law:
    """The code of a file of laws: its definitions by their names, and the lines that cite conditions."""

    definitions: dict[str, ast.stmt]
    citations: dict[int, tuple[int, ...]]

    def lines(self, name: str) -> set[int]:
        """The lines of a definition and of all that it uses."""
        seen: set[str] = set()
        ahead = [name]
        while ahead:
            one = ahead.pop()
            if one in self.definitions and one not in seen:
                seen.add(one)
                ahead += (n.id for n in ast.walk(self.definitions[one]) if isinstance(n, ast.Name))
        return {line for one in seen for line in _lines(self.definitions[one])}

    def cited(self, name: str) -> set[int]:
        """The numbers of the conditions that are cited in a rule and in all that it uses."""
        lines = self.lines(name)
        return {number for line, numbers in self.citations.items() if line in lines for number in numbers}


def law_of(text: str) -> Law:
    """The definitions and citations of a source text."""
    definitions = {name: part for part in ast.parse(text).body for name in _names(part)}
    return Law(definitions, dict(_citations(text)))


def _names(part: ast.stmt) -> Iterable[str]:
    match part:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (t.id for t in targets if isinstance(t, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def _lines(part: ast.stmt) -> range:
    return range(part.lineno, (part.end_lineno or part.lineno) + 1)


def _citations(text: str) -> Iterable[tuple[int, tuple[int, ...]]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if _CITATION.fullmatch(token.string):
            numbers = re.findall(r"\((\d+)\)", token.string.partition(":")[0])
            yield token.start[0], tuple(map(int, numbers))
        else:
            assert not _LIKE_A_CITATION.match(token.string), f"a citation of another form: {token.string}"


@pytest.mark.parametrize("module", MODULES)
def test_conditions_are_cited_where_they_are_checked(module: str) -> None:
    found = importlib.import_module(f"{laws.__name__}.{module}")
    law = law_of(inspect.getsource(found))
    rules = {name: rule for name, rule in vars(found).items() if isinstance(rule, Rule) and name in law.definitions}
    assert rules
    for name, rule in rules.items():
        numbers = set(range(1, len(rule.conditions) + 1))
        assert law.cited(name) == numbers, f"{rule.name}: the conditions that are cited, and those that there are"
    for line, cited in law.citations.items():
        users = [rule for name, rule in rules.items() if line in law.lines(name)]
        assert users, f"line {line} cites a condition of no rule"
        for number in cited:
            meant = {rule.conditions[number - 1] for rule in users}
            assert len(meant) == 1, f"line {line} cites what is another condition for another rule: {meant}"


@pytest.mark.parametrize("module", MODULES)
def test_conditions_are_numbered_sentences(module: str) -> None:
    found = importlib.import_module(f"{laws.__name__}.{module}")
    for rule in (value for value in vars(found).values() if isinstance(value, Rule)):
        for number, condition in enumerate(rule.conditions, start=1):
            assert re.fullmatch(rf"{number}\. [A-Z(].*\.", condition), condition


def test_citations_belong_to_the_rule_that_uses_the_code() -> None:
    law = law_of(
        "def _one(plan):\n"
        "    return _both(plan)  # (1): for some reason\n"
        "def _two(plan):\n"
        "    return _both(plan)\n"
        "def _both(plan):\n"
        "    return plan  # (2), (3)\n"
        "ONE = Rule(_one)\n"
        "TWO = Rule(_two)  # (4)\n"
    )
    assert law.cited("ONE") == {1, 2, 3}
    assert law.cited("TWO") == {2, 3, 4}


@pytest.mark.parametrize("comment", ["# 2", "#(2)", "# (2) for some reason", "# (1),(2)", "# condition 2", "# (2):"])
def test_citations_have_one_form(comment: str) -> None:
    with pytest.raises(AssertionError, match="another form"):
        law_of(f"x = 1  {comment}\n")
