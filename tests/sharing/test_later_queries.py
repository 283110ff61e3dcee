"""Random runs whose queries start at different times, beside the reference."""

from __future__ import annotations

from tests.sharing.later_queries_at_work import Worked, run_bounded, run_live


def test_queries_that_start_at_different_times_have_the_answers_of_the_reference() -> None:
    worked = Worked()
    for seed in range(3):
        run_bounded(seed, worked)
    assert not worked.wrong, "\n".join(worked.wrong)
    assert worked.gone_on >= 8


def test_queries_that_join_a_run_one_after_the_other_have_the_answers_of_the_reference() -> None:
    worked = Worked()
    for seed in range(6):
        run_live(seed, worked)
    assert not worked.wrong, "\n".join(worked.wrong)
    assert min(worked.gone_on, worked.alone) >= 10
    assert worked.back >= 1
