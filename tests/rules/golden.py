"""Golden plans: what each rule makes of the queries in tests/rules/cases, and of which it makes nothing.

python -m tests.rules.golden writes tests/rules/golden anew.
"""

from __future__ import annotations

from pathlib import Path

from continua.algebra.plan import Plan
from continua.algebra.printer import tree
from continua.rules.driver import Phase, rewrite
from continua.rules.examples import plan_of
from continua.rules.rule import Facts, Rule
from tests.rules.registry import EVERY, PREPARED

_HERE = Path(__file__).parent
UNCHANGED = "unchanged"


def cases(rule: Rule) -> list[tuple[str, str]]:
    """The titles and queries of a rule's cases: a comment line, then a query that ends with a semicolon."""
    found: list[tuple[str, str]] = []
    title, lines = "", []
    for line in (_HERE / "cases" / f"{rule.name}.sql").read_text().splitlines():
        if line.startswith("--"):
            title = line.removeprefix("--").strip()
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            found.append((title, "\n".join(lines).strip().rstrip(";")))
            title, lines = "", []
    return found


def rendered(rule: Rule) -> str:
    """The golden text of a rule."""
    parts = [f"{rule.name}: {rule.law}", *rule.conditions]
    for title, query in cases(rule):
        before = prepared(rule, plan_of(query), Facts())
        after = rewrite(before, [Phase("golden", (rule,))], Facts()).plan
        changed = tree(after) if after != before else UNCHANGED
        parts.append(f"\n== {title}\n{query}\n-- before\n{tree(before)}\n-- after\n{changed}")
    return "\n".join(parts) + "\n"


def prepared(rule: Rule, plan: Plan, facts: Facts) -> Plan:
    """The plan after the rules that must come first."""
    return rewrite(plan, [Phase("prepared", PREPARED.get(rule.name, ()))], facts).plan


def golden(rule: Rule) -> Path:
    """The file of a rule."""
    return _HERE / "golden" / f"{rule.name}.txt"


def main() -> None:
    """Writes all golden files."""
    for rule in EVERY.values():
        golden(rule).write_text(rendered(rule))


if __name__ == "__main__":
    main()
