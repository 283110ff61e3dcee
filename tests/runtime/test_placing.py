"""Which executor a task belongs to while executors come and go."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from continua.runtime.executors.placing import owners

THREE = {"0": "a", "1": "b", "2": "c"}


def test_tasks_are_shared_out_alike() -> None:
    found = owners((), THREE, 8)
    assert sorted(Counter(executor for executor, _ in found).values()) == [2, 3, 3]
    assert all(THREE[executor] == host for executor, host in found)


def test_nobody_moves_without_a_reason() -> None:
    found = owners((), THREE, 7)
    assert owners(found, dict(reversed(THREE.items())), 7) == found


def test_what_an_executor_had_goes_to_others_and_the_rest_stays() -> None:
    before = owners((), THREE, 6)
    after = owners(before, {"0": "a", "2": "c"}, 6)
    assert all(mine == had for mine, had in zip(after, before, strict=True) if had[0] != "1")
    assert Counter(executor for executor, _ in after) == {"0": 3, "2": 3}


def test_one_that_takes_the_place_of_another_on_its_machine_gets_what_that_had() -> None:
    before = owners((), THREE, 6)
    after = owners(before, {"0": "a", "7": "b", "2": "c"}, 6)
    assert [e for e, _ in after] == ["7" if e == "1" else e for e, _ in before]


def test_a_new_executor_gets_its_share_and_no_more() -> None:
    before = owners((), THREE, 12)
    after = owners(before, {**THREE, "3": "d"}, 12)
    assert Counter(executor for executor, _ in after) == dict.fromkeys("0123", 3)
    assert sum(mine != had for mine, had in zip(after, before, strict=True)) == 3


def test_without_executors_there_is_no_preference() -> None:
    assert owners((("0", "a"),), {}, 1) == ()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_and_goes_every_task_has_a_place(seed: int) -> None:
    rng = random.Random(seed)
    tasks, known = rng.randrange(1, 20), owners((), THREE, 1)
    for _ in range(30):
        living = {str(n): rng.choice("abc") for n in rng.sample(range(10), rng.randrange(1, 8))}
        known = owners(known, living, tasks)
        assert len(known) == tasks
        assert max(Counter(executor for executor, _ in known).values()) <= -(-tasks // len(living))
        assert all(living[executor] == host for executor, host in known)
