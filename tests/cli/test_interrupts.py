"""Errors and interrupts that come while objects are thrown away."""

from __future__ import annotations

import gc
import threading

import pytest

from continua.cli.interrupts import telling_lost_errors
from tests.cli.following import PATIENCE


class HalfMade:
    """An object of a library that an interrupt leaves without what its end needs."""

    def __init__(self) -> None:
        raise KeyboardInterrupt

    def __del__(self) -> None:
        raise AttributeError("it was never made")


class Interrupting:
    """An object during the end of which somebody presses Ctrl-C."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


class Failing:
    """An object whose end fails."""

    def __del__(self) -> None:
        raise ValueError("this end has failed")


def _drop(of: type[object]) -> None:
    of()
    gc.collect()


def test_what_an_interrupt_leaves_half_made_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), telling_lost_errors():
        _drop(HalfMade)
    gc.collect()
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_not_lost_while_something_is_thrown_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), telling_lost_errors():
        _drop(Interrupting)
        threading.Event().wait(PATIENCE)
    assert capsys.readouterr().err == ""


def test_other_errors_are_told_in_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with telling_lost_errors():
        _drop(Failing)
        assert capsys.readouterr().err == ""
    assert "ValueError: this end has failed" in capsys.readouterr().err
