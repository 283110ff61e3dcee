"""Windows whose content a sweep finds: the last rows, sequences of windows, sessions, windows with their own bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from continua.errors import ContinuaError, Diagnostic, EvaluationError
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.window.rows_window import RowsWindowSweep
from continua.kernels.window.sequence_window import BatchWord, OwnBounds, SequenceSweep, TimeByRows, WindowSequence
from continua.kernels.window.session_sweep import SessionSweep
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import NULLS_PER_WORD, Codec
from continua.physical import nodes
from continua.physical.key_words import key_width, keys_of, rows_in_order, string_keys
from continua.physical.relation import cannot
from continua.physical.rows import RowSet
from continua.windows.measures import Axis, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.sessions import SessionWindow
from continua.windows.spec import GenericWindow


class SweptWindow:
    """A window at work whose rows enter and leave as a sweep over the elements before them says."""

    def __init__(self, node: nodes.SweptWindow, arena: Arena, codec: Codec, at_once: bool) -> None:
        """``at_once``: rows are read only to make changes of them."""
        self._node, self._codec = node, codec
        self._kernel = _kernel(node, arena, codec, at_once)

    @property
    def state_rows(self) -> int:
        """Rows in the window, and those that wait."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The elements, each during its time in the window."""
        rows = rows_in_order(inputs[0], self._node.by_value, self._node.order)
        keys = keys_of(rows, self._node.partition)
        return RowSet.of_batch(self._codec, self._content(keys, rows.batch, after, until))

    def _content(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:
        window = self._node.spec.text or type(self._node.spec).__name__
        try:
            return self._kernel.epoch(keys, batch, after, until)
        except ContinuaError:
            raise
        except OverflowError:
            raise _failed("TOO_MANY_INSTANTS", f"window {window} is evaluated at too many instants", window) from None
        except ValueError as error:
            hint = "a window in Python says by how much its rhythm goes back: GenericWindow(..., behind=6)"
            raise _failed("WINDOW_MOVES_BACK", f"window {window}: {error}", window, hint) from None

    def interned(self) -> list[Int64s]:
        """The strings of rows and keys."""
        keys = self._kernel.interned_keys(string_keys(self._codec, self._node.partition))
        return [*self._kernel.interned(self._codec.string_columns), *keys]


def _failed(condition: str, message: str, window: str, hint: str | None = None) -> EvaluationError:
    return EvaluationError(Diagnostic(condition, message, hint=hint, parameters={"what": window, "window": window}))


class Kernel(Protocol):
    """The sweep over the elements of a window."""

    @property
    def state_rows(self) -> int:
        """Rows in the window, and those that wait."""

    def epoch(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:
        """What enters and leaves, of elements in the order of their positions."""

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows."""

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all keys."""


def _kernel(node: nodes.SweptWindow, arena: Arena, codec: Codec, at_once: bool) -> Kernel:
    place = arena, node.id, key_width(codec, node.partition), codec.width
    match node.spec:
        case RowsWindow(rows=rows, size=size, slide=slide, lag=lag, full=full):
            origin, moves = slide.origin if slide else 0, (_amount(slide, Axis.ROWS), _amount(slide, Axis.TIME))
            return RowsWindowSweep(*place, rows, size, *moves, lag, origin, full, at_once)
        case TimeWindow(size=size, slide=Rate(amount=rows, axis=Axis.ROWS), lag=lag, opens=opens):
            return SequenceSweep(*place, TimeByRows(size, rows, lag, node.chronon, opens))
        case SequenceWindow() as spec:
            return SequenceSweep(*place, _sequence(spec), _batch(node, codec))
        case SessionWindow(size=size):
            return SessionSweep(*place, size)
        case GenericWindow() as spec:
            return SequenceSweep(*place, _own_bounds(spec, node.start, node.chronon), _batch(node, codec))
        case other:
            raise cannot(f"the window {other.text}")


def _batch(node: nodes.SweptWindow, codec: Codec) -> tuple[BatchWord, ...]:
    """The words by which batches of one instant are told apart: the number, and whether there is one."""
    if node.batch is None:
        return ()
    null = codec.null_words[node.batch // NULLS_PER_WORD]
    return BatchWord(codec.columns[node.batch][0]), BatchWord(null, 1 << (node.batch % NULLS_PER_WORD))


def _amount(slide: Rate | None, axis: Axis) -> int | None:
    return slide.amount if slide is not None and slide.axis is axis else None


def _sequence(spec: SequenceWindow) -> WindowSequence:
    in_rows = spec.rate.axis is Axis.ROWS, spec.bounds is Axis.ROWS
    return WindowSequence(spec.alpha, spec.beta, spec.rate.amount, *in_rows, spec.lag)


def _own_bounds(spec: GenericWindow, start: int, chronon: int) -> OwnBounds:
    def bounds(instant: int) -> tuple[int, int] | None:
        return spec.checked_bounds(instant, start)

    def following(now: int, until: int) -> int | None:
        return spec.next_step(now, until, chronon)

    def least(now: int) -> int:
        evaluated = spec.gamma(now)
        return now if evaluated is None else spec.alpha(evaluated - spec.behind)

    moves_back = least if spec.behind else None
    return OwnBounds(following, bounds, spec.bounds is Axis.ROWS, chronon=chronon, least=moves_back)
