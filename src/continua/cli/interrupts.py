"""Ctrl-C while a command is at work, and signals that ask a run to end."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SOON = 0.01
"""Seconds until an interrupt comes again that was lost; by then what was thrown away is gone."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt inside, also where DuckDB turns it into an error of its own."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    except Exception:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def asking(
    asked: threading.Event, signals: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
) -> Iterator[None]:
    """The first Ctrl-C and every SIGTERM ask for an end after what is at hand; another Ctrl-C ends it at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set() and number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        asked.set()

    before = {number: signal.signal(number, ask) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def telling_lost_errors() -> Iterator[None]:
    """Errors that are raised while objects are thrown away, which nobody can catch, are told when the work is done.

    After an interrupt they are not: it leaves objects of libraries half made, and these complain. An interrupt that
    comes while something is thrown away would be lost with such an error: it comes once more.
    """
    told: list[str] = []

    def remember(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            again = threading.Timer(_SOON, _interrupt)
            again.daemon = True
            again.start()
            return
        trace = traceback.format_exception(lost.exc_type, lost.exc_value, lost.exc_traceback)
        told.append(f"{lost.err_msg or 'Exception ignored in'}: {lost.object!r}\n{''.join(trace)}")

    before, sys.unraisablehook = sys.unraisablehook, remember
    try:
        yield
    except KeyboardInterrupt as error:
        _let_go(error)
        told.clear()
        raise
    finally:
        sys.unraisablehook = before
        for text in told:
            sys.stderr.write(text)


def _interrupt() -> None:
    """Ctrl-C by a signal, which ends also a wait of the main thread."""
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGINT)


def _let_go(error: BaseException | None) -> None:
    """Throws away what the frames of an error hold, as far as these have ended."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
