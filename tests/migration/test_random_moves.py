"""Random queries answer as the reference does while they move from plan to plan, and are stopped amid that.

python -m tests.migration.fuzz_moves has many more of them move.
"""

from __future__ import annotations

from tests.migration.moving_runs import Tally, checked

SEEDS = range(4)
LEAST = 12
"""So many moves at least are seen."""


def test_moves_and_crashes_change_no_answer() -> None:
    tally = Tally()
    wrong: list[str] = []
    for seed in SEEDS:
        graph, outcome = checked(seed, 6, tally)
        wrong += [f"seed {seed}, {graph.cut}\n{d.text}\n{d.what}" for d in outcome.differences]
    assert not wrong, "\n\n".join(wrong)
    assert tally.moves >= LEAST, tally
    assert tally.crashes, tally
