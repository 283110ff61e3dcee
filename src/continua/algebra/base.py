"""What an operator is. It is its typed fields: frozen, compared by value, its schema derived.

A plan that makes no sense cannot be built: each constructor checks its inputs and raises :class:`PlanError`.
A plan yields a *relation* (a bag at every instant, CQL definition 4.2), a *stream* (a bag of timestamped elements,
CQL definition 4.1) or a *tagged* stream of inserts, updates and deletes (SyncSQL 2.1). The operators are in
:mod:`leaves`, :mod:`relational` and :mod:`streaming`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import wraps
from typing import ClassVar, TypeVar

from continua.algebra.expr import Expr
from continua.algebra.schema import Field, Schema
from continua.errors import Diagnostic, PlanError

INPUT_FIELDS = ("input", "left", "right", "sync")
"""The fields that hold an operator's inputs, in order."""


class Kind(Enum):
    """What a plan yields."""

    RELATION = "relation"
    STREAM = "stream"
    TAGGED = "tagged stream"


@dataclass(frozen=True)
class Plan:
    """The base of all operators."""

    kind: ClassVar[Kind] = Kind.RELATION
    input_names: ClassVar[tuple[str, ...]] = ()
    """Which of the input fields an operator has; the last may be None."""
    schema: Schema = field(init=False, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        """Plans are keys of many tables, and deep: each computes its hash once."""
        super().__init_subclass__()
        cls.__hash__ = _remembered_hash  # type: ignore[assignment, method-assign]
        cls.input_names = tuple(name for name in INPUT_FIELDS if name in cls.__annotations__)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def _derive(self, schema_fields: tuple[Field, ...]) -> None:
        schema = Schema(schema_fields)
        duplicates = schema.duplicates()
        require(not duplicates, "DUPLICATE_COLUMN", f"column {duplicates} twice in one row", columns=duplicates)
        object.__setattr__(self, "schema", schema)

    @property
    def yields(self) -> Kind:
        """What this plan yields; some operators yield what their input does."""
        return self.kind

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans that this operator reads."""
        found = [getattr(self, name) for name in self.input_names]
        return tuple([part for part in found if part is not None])


def _remembered_hash(plan: Plan) -> int:
    known: int | None = plan.__dict__.get("_hash")
    if known is None:
        parts = tuple([getattr(plan, f.name) for f in fields(plan) if f.compare])
        known = hash((type(plan).__name__, parts))
        object.__setattr__(plan, "_hash", known)
    return known


P = TypeVar("P", bound=Plan)
T = TypeVar("T")


def remembered(derive: Callable[[Plan], T]) -> Callable[[Plan], T]:
    """A function of a plan alone, which is asked of the same plan many times, computes its value once."""
    name = f"_{derive.__name__}"

    @wraps(derive)
    def known(plan: Plan) -> T:
        values = plan.__dict__
        if name not in values:
            object.__setattr__(plan, name, derive(plan))
        value: T = values[name]
        return value

    return known


def kind_of(plan: Plan) -> Kind:
    """What a plan yields."""
    return plan.yields


def of_kind(plan: Plan, kind: Kind, what: str) -> None:
    """Refuse an input that yields something else."""
    actual = plan.yields
    require(
        actual is kind,
        "WRONG_KIND",
        f"{what} needs a {kind.value}, not a {actual.value}",
        needs=kind.value,
        got=actual.value,
    )


def boolean(predicate: Expr, what: str) -> None:
    """Refuse a predicate that is no condition."""
    require(
        predicate.type.name in ("BOOLEAN", "NULL", "UNKNOWN"),
        "TYPE_MISMATCH",
        f"{what} needs a condition, not {predicate.type}",
        left="BOOLEAN",
        right=str(predicate.type),
    )


def nullable(columns: tuple[Field, ...]) -> tuple[Field, ...]:
    """The columns, able to hold NULL."""
    return tuple(replace(f, nullable=True) for f in columns)


def require(holds: bool, condition: str, message: str, **parameters: object) -> None:
    """Raise a :class:`PlanError` unless ``holds``."""
    if not holds:
        raise PlanError(Diagnostic(condition, message, parameters=parameters))
