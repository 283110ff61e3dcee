"""Random SyncSQL programs and window sequences: the engine answers as the reference does.

python -m tests.square.sync_programs runs many more.
"""

from __future__ import annotations

from tests.square.sync_programs import QUERIES, checked, told

PROGRAMS = 24


def test_engine_and_reference_agree_on_programs_with_synchronizations() -> None:
    ran = 0
    for seed in range(PROGRAMS):
        graph, outcome = checked(seed)
        ran += outcome.ran
        assert not outcome.differences, told(graph, outcome)
    assert ran >= 0.7 * PROGRAMS * QUERIES
