"""Golden plans: what each rule makes of the queries in tests/rules/cases, and of which it makes nothing.

python -m tests.rules.golden writes tests/rules/golden anew.
"""

from __future__ import annotations

from pathlib import Path

from continua.algebra.base import Plan
from continua.algebra.printer import tree
from continua.rules.driver import Phase, rewrite
from continua.rules.examples import plan_of
from continua.rules.rule import Facts, Rule
from continua.rules.statistics import Statistics
from tests.cli.helpers import continua
from tests.rules.registry import EVERY, PREPARED

_HERE = Path(__file__).parent
UNCHANGED = "unchanged"
_STATISTICS = "-- statistics:"


def cases(rule: Rule) -> list[tuple[str, str, str]]:
    """The titles and queries of a rule's cases: a comment line, then a query that ends with a semicolon.

    A comment ``-- statistics: Bid.rate = 1000, Bid.item_id = 50`` gives what is known of the inputs.
    """
    found: list[tuple[str, str, str]] = []
    title, known, lines = "", "", []
    for line in (_HERE / "cases" / f"{rule.name}.sql").read_text().splitlines():
        if line.startswith(_STATISTICS):
            known = line.removeprefix(_STATISTICS).strip()
            continue
        if line.startswith("--"):
            title = line.removeprefix("--").strip()
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            found.append((title, "\n".join(lines).strip().rstrip(";"), known))
            title, known, lines = "", "", []
    return found


def rendered(rule: Rule) -> str:
    """The golden text of a rule."""
    parts = [f"{rule.name}: {rule.law}", *rule.conditions]
    for title, query, known in cases(rule):
        facts = Facts(1, _statistics(known))
        before = prepared(rule, plan_of(query, rule.required), facts)
        after = rewrite(before, [Phase("golden", (rule,))], facts).plan
        changed = tree(after) if after != before else UNCHANGED
        told = f"{_STATISTICS} {known}\n" if known else ""
        parts.append(f"\n== {title}\n{told}{query}\n-- before\n{tree(before)}\n-- after\n{changed}")
    return "\n".join(parts) + "\n"


def _statistics(text: str) -> Statistics:
    """What a case says of the inputs."""
    rates: dict[str, float] = {}
    rows: dict[str, float] = {}
    distinct: dict[tuple[str, str], float] = {}
    for part in filter(None, text.split(",")):
        name, number = part.split("=")
        source, what = name.strip().casefold().split(".")
        match what:
            case "rate":
                rates[source] = float(number)
            case "rows":
                rows[source] = float(number)
            case _:
                distinct[source, what] = float(number)
    return Statistics(rates, rows, distinct)


def prepared(rule: Rule, plan: Plan, facts: Facts) -> Plan:
    """The plan after the rules that must come first."""
    return rewrite(plan, [Phase("prepared", PREPARED.get(rule.name, ()))], facts).plan


def golden(rule: Rule) -> Path:
    """The file of a rule."""
    return _HERE / "golden" / f"{rule.name}.txt"


PAPERS = ("cql", "pipes")
"""Scripts with the example queries of CQL 6.3 and PIPES 2009 3."""


def explained(paper: str) -> str:
    """What the rules make of the queries of a paper, as explain shows it."""
    script = _HERE / "papers" / f"{paper}.sql"
    return continua("explain", str(script), "--stage", "rewrites").stdout


def main() -> None:
    """Writes all golden files."""
    for paper in PAPERS:
        (_HERE / "papers" / f"{paper}.txt").write_text(explained(paper))
    for rule in EVERY.values():
        golden(rule).write_text(rendered(rule))


if __name__ == "__main__":
    main()
