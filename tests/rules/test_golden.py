"""Every rule has golden plans: cases that it changes, and cases that it must leave alone."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import continua.rules
from continua.algebra.traverse import nodes_of
from continua.rules.examples import plan_of
from continua.rules.rule import Facts, Rule
from tests.rules.golden import PAPERS, UNCHANGED, cases, explained, golden, rendered
from tests.rules.registry import EVERY

MODULES = [m.name for m in pkgutil.walk_packages(continua.rules.__path__, "continua.rules.")]


@pytest.mark.parametrize("rule", EVERY.values(), ids=EVERY.keys())
def test_plans_are_as_they_were(rule: Rule) -> None:
    text = rendered(rule)
    assert text == golden(rule).read_text(), "python -m tests.rules.golden writes the files anew"
    outcomes = [part.rstrip().endswith(UNCHANGED) for part in text.split("\n== ")[1:]]
    assert True in outcomes and False in outcomes, "a rule needs a case that it changes and one that it does not"
    assert rule.law and rule.conditions


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_documentation_hold(module: str) -> None:
    found = importlib.import_module(module)
    failed, _ = doctest.testmod(found)
    assert not failed
    if any(isinstance(value, Rule) for value in vars(found).values()):
        assert ">>> " in (found.__doc__ or ""), "the file of a rule shows an example"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_queries_of_the_papers_are_explained_as_they_were(paper: str) -> None:
    expected = (Path(__file__).parent / "papers" / f"{paper}.txt").read_text()
    assert explained(paper) == expected, "python -m tests.rules.golden writes the files anew"


def test_no_rule_applies_where_it_is_not_tried() -> None:
    plans = [plan_of(query, rule.required) for rule in EVERY.values() for _, query, _ in cases(rule)]
    places = {node for plan in plans for node in nodes_of(plan)}
    assert len(places) > 500
    wrong = {
        (rule.name, type(node).__name__)
        for rule in EVERY.values()
        for node in places
        if not isinstance(node, rule.tops) and rule.rewrite(node, Facts()) is not None
    }
    assert not wrong
