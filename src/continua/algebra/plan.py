"""Logical operators. An operator is its typed fields: frozen, compared by value, its schema derived.

A plan that makes no sense cannot be built: each constructor checks its inputs and raises :class:`PlanError`.
A plan yields a *relation* (a bag at every instant, CQL definition 4.2), a *stream* (a bag of timestamped elements,
CQL definition 4.1) or a *tagged* stream of inserts, updates and deletes (SyncSQL 2.1).
"""

from __future__ import annotations

from continua.algebra.base import (
    Kind,
    P,
    Plan,
    kind_of,
)
from continua.algebra.leaves import (
    BaseRelation,
    Clock,
    Source,
    TaggedSource,
    Values,
)
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.streaming import (
    Coalesce,
    Complete,
    RelationalView,
    Split,
    StreamOperator,
    Synchronize,
    Tag,
    ToStream,
)
from continua.algebra.traverse import (
    all_inputs,
    domain_of,
    expressions_of,
    free_columns,
    nodes_of,
    subplans_of,
    with_inputs,
)

__all__ = [
    "Aggregate",
    "BaseRelation",
    "Clock",
    "Coalesce",
    "Complete",
    "DuplicateElimination",
    "Filter",
    "Group",
    "Join",
    "JoinKind",
    "Kind",
    "P",
    "Plan",
    "Project",
    "RelationalView",
    "SetOperation",
    "SetOperator",
    "Source",
    "Split",
    "StreamOperator",
    "Synchronize",
    "Tag",
    "TaggedSource",
    "Timeslice",
    "ToStream",
    "TopK",
    "Values",
    "Window",
    "all_inputs",
    "domain_of",
    "expressions_of",
    "free_columns",
    "kind_of",
    "nodes_of",
    "subplans_of",
    "with_inputs",
]
