"""Definitions: CREATE, DROP and SET, checked and entered into the catalog."""

from __future__ import annotations

from continua.algebra.leaves import Values
from continua.algebra.schema import Field
from continua.binding.context import Context, UnbindableError
from continua.binding.declared_statistics import bind_statistics
from continua.binding.defaults import bind_view, tell_expanded
from continua.binding.queries import QueryBinder
from continua.binding.settings import bind_setting
from continua.binding.user_code import bind_aggregate, bind_function, bind_window
from continua.catalog import (
    Entry,
    RelationInfo,
    SourcePartitions,
    StreamInfo,
    TaggedInfo,
    ViewInfo,
    key_of,
    same,
)
from continua.errors import did_you_mean, listing
from continua.instants import TimeDomain
from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Drop,
    Name,
    SetOption,
)
from continua.types import TIMESTAMP, DataType, comparable

Definition = (
    CreateSource | CreateTagged | CreateDerived | CreateFunction | CreateAggregate | CreateWindow | Drop | SetOption
)


def define(context: Context, statement: Definition) -> None:
    """Enters a definition into the catalog, or notes what is wrong with it."""
    match statement:
        case CreateSource():
            _add(context, statement.name, _source(context, statement), statement.replace)
        case CreateTagged():
            _add(context, statement.name, _tagged(context, statement), statement.replace)
        case CreateDerived():
            kind = statement.mode or statement.kind
            columns = tuple(n.text for n in statement.columns)
            plan, tree = bind_view(context, statement.query, kind, None, columns)
            tell_expanded(context, tree)
            entry = ViewInfo(statement.name.text, kind, plan, statement.query, columns, context.settings)
            _add(context, statement.name, entry, statement.replace)
        case CreateFunction():
            _add(context, statement.name, bind_function(context, statement), statement.replace)
        case CreateAggregate():
            _add(context, statement.name, bind_aggregate(context, statement), statement.replace)
        case CreateWindow():
            _add(context, statement.name, bind_window(context, statement), statement.replace)
        case Drop():
            _drop(context, statement)
        case SetOption():
            context.catalog.settings = bind_setting(context, statement)


def _add(context: Context, name: Name, entry: Entry, replace_existing: bool) -> None:
    if context.errors:
        return
    if context.catalog.has(entry) and not replace_existing:
        context.fail(
            "ALREADY_EXISTS",
            f"{name} exists already",
            name.span,
            "DROP it first, or write CREATE OR REPLACE",
            name=name.text,
        )
    before, known = context.catalog.entry(entry), context.known.get(key_of(entry))
    if before is not None and not same(before, entry):
        _check_unused(context, name, before)
    if known is not None and not same(known, entry):
        message = f"the live run has read another {name}"
        context.fail("IN_USE", message, name.span, "stop the live run first, or take another name", name=name.text)
    context.catalog.add(entry)


# Streams and relations.


def _source(context: Context, statement: CreateSource) -> StreamInfo | RelationInfo:
    if statement.query is not None:
        return _constant_table(context, statement)
    seen: set[str] = set()
    for column in statement.columns:
        if column.name.text.casefold() in seen:
            context.error(
                "DUPLICATE_COLUMN", f"column {column.name} stands twice", column.name.span, columns=[column.name.text]
            )
        seen.add(column.name.text.casefold())
    if statement.kind in ("STREAM", "SOURCE"):
        return _stream(context, statement)
    return _relation(context, statement)


def _stream(context: Context, statement: CreateSource) -> StreamInfo:
    hidden: list[str] = []
    domain = TimeDomain.MICROSECONDS
    order_by = None
    valid = None
    if statement.order_by is not None:
        order_by, domain = _time_column(context, statement, statement.order_by)
        hidden.append(order_by)
    if statement.valid_from is not None and statement.valid_to is not None:
        if order_by is not None:
            message = "a stream has ORDERED BY or VALID FROM ... TO, not both"
            context.error("TWO_TIMES", message, statement.valid_from.span)
        start, domain = _time_column(context, statement, statement.valid_from)
        end, other = _time_column(context, statement, statement.valid_to)
        if other is not domain:
            context.error(
                "MIXED_TIME_DOMAINS",
                f"{start} counts {domain.value} and {end} counts {other.value}",
                statement.valid_to.span,
                domains=sorted((domain.value, other.value)),
            )
        valid = start, end
        hidden += [start, end]
    if statement.tagged_by is not None:
        context.error("TAGGED_STREAM", "TAGGED BY makes a relation: write CREATE RELATION", statement.tagged_by.span)
    return StreamInfo(
        statement.name.text,
        _fields(statement, hidden),
        domain,
        order_by,
        _slack(context, statement, domain),
        valid,
        _key(context, statement),
        statement.source,
        statement.skip_errors,
        bind_statistics(context, statement, ("rate",)),
        _partitions(context, statement),
    )


def _relation(context: Context, statement: CreateSource) -> RelationInfo:
    hidden: list[str] = []
    domain = TimeDomain.TICKS
    order_by = tagged_by = None
    if statement.valid_from is not None:
        context.error("VALID_RELATION", "VALID FROM belongs to a stream", statement.valid_from.span)
    if statement.order_by is not None:
        order_by, domain = _time_column(context, statement, statement.order_by)
        hidden.append(order_by)
    if statement.tagged_by is not None:
        tagged_by = _column(context, statement, statement.tagged_by)
        hidden.append(tagged_by)
        if order_by is None:
            context.error(
                "UNTIMED_TAGS",
                "tagged updates need timestamps",
                statement.tagged_by.span,
                "add ORDERED BY and the timestamp column",
            )
    return RelationInfo(
        statement.name.text,
        _fields(statement, hidden),
        _key(context, statement),
        order_by,
        tagged_by,
        domain,
        _slack(context, statement, domain),
        statement.source,
        statement.skip_errors,
        statistics=bind_statistics(context, statement, ("rate", "rows")),
        partitions=_partitions(context, statement),
    )


def _constant_table(context: Context, statement: CreateSource) -> RelationInfo:
    assert statement.query is not None
    plan = QueryBinder(context).query(statement.query.copy(), None, None)
    if not isinstance(plan, Values):
        context.fail(
            "NOT_SUPPORTED",
            f"CREATE {statement.kind} AS takes VALUES",
            statement.name.span,
            "CREATE VIEW keeps the answer of a query up to date",
            feature="CREATE TABLE AS",
        )
    names = [c.name.text for c in statement.columns] or [f.short for f in plan.schema]
    types = [c.type for c in statement.columns] or list(plan.schema.types)
    if len(names) != len(plan.schema):
        context.fail(
            "COLUMN_COUNT",
            f"{len(names)} columns for rows of {len(plan.schema)} values",
            statement.name.span,
            left=len(names),
            right=len(plan.schema),
        )
    fields = tuple(Field(n, t) for n, t in zip(names, types, strict=True))
    for given, wanted in zip(plan.schema, fields, strict=True):
        if not _assignable(given.type, wanted.type):
            context.error(
                "TYPE_MISMATCH",
                f"column {wanted.name} is {wanted.type}, and its values are {given.type}",
                statement.query,
                left=str(wanted.type),
                right=str(given.type),
            )
    return RelationInfo(statement.name.text, fields, _key(context, statement), rows=plan.rows)


def _assignable(given: DataType, wanted: DataType) -> bool:
    """Whether constants of one type can be rows of another: numbers of numbers, times of their text."""
    return comparable(given, wanted) or wanted.name in ("ARRAY", "STRUCT", "MAP")


def _fields(statement: CreateSource, hidden: list[str]) -> tuple[Field, ...]:
    return tuple(Field(c.name.text, c.type, c.nullable, c.name.text in hidden) for c in statement.columns)


def _column(context: Context, statement: CreateSource, name: Name) -> str:
    for column in statement.columns:
        if column.name.text.casefold() == name.text.casefold():
            return column.name.text
    known = [c.name.text for c in statement.columns]
    context.fail(
        "UNKNOWN_COLUMN",
        f"{statement.name} has no column {name}",
        name.span,
        did_you_mean(name.text, known) or f"there are {listing(known)}",
        column=name.text,
    )


def _time_column(context: Context, statement: CreateSource, name: Name) -> tuple[str, TimeDomain]:
    found = _column(context, statement, name)
    column_type = next(c.type for c in statement.columns if c.name.text == found)
    if not column_type.is_time_domain:
        context.error(
            "NOT_A_TIME",
            f"{name} is {column_type}: a stream is ordered by TIMESTAMP or an integer",
            name.span,
            column=name.text,
            type=str(column_type),
        )
    return found, TimeDomain.MICROSECONDS if column_type == TIMESTAMP else TimeDomain.TICKS


def _key(context: Context, statement: CreateSource) -> tuple[str, ...]:
    return tuple(_column(context, statement, name) for name in statement.key)


def _slack(context: Context, statement: CreateSource, domain: TimeDomain) -> int:
    if statement.slack is None:
        return 0
    slack = statement.slack.instants(domain)
    if slack is None:
        context.fail(
            "UNIT_OF_TICKS",
            f"SLACK {statement.slack}: {statement.name} is ordered by integers, which have no unit",
            statement.slack_span,
            f"write SLACK {statement.slack.amount}",
            unit=statement.slack.unit,
        )
    return slack


_FRAMES = ("spark", "table")


def _partitions(context: Context, statement: CreateSource) -> SourcePartitions | None:
    """PARTITIONED BY: it makes sense where rows have times of their own, and where there is what it names."""
    given = statement.partitioned
    if given is None:
        return None
    if statement.order_by is None and statement.valid_from is None:
        message = "PARTITIONED BY tells which rows are in order, and these have no time of their own"
        context.error("UNTIMED_PARTITIONS", message, given.span, "add ORDERED BY and the timestamp column")
    files = statement.source is not None and statement.source.function.text.lower() not in _FRAMES
    if given.column is None:
        if not files:
            message = f"{statement.name} has no files: PARTITIONED BY FILE needs a SOURCE that has"
            context.error("NO_FILES", message, given.span, "name the column that tells the partition")
        return SourcePartitions()
    if files:
        message = f"{statement.name} is read from files, whose rows are in the order of the files"
        context.error("NOT_BY_COLUMN", message, given.span, "write PARTITIONED BY FILE")
    names = [_column(context, statement, n) for n in (given.column, given.offset) if n is not None]
    for name, at in zip(names, (given.column, given.offset), strict=False):
        column = next(c for c in statement.columns if c.name.text == name)
        if not column.type.is_integer:
            message = f"{name} is {column.type}: partitions and offsets are whole numbers"
            context.error("NOT_A_NUMBER", message, at.span if at else None, column=name, type=str(column.type))
    return SourcePartitions(names[0], names[1] if len(names) > 1 else None)


def _tagged(context: Context, statement: CreateTagged) -> TaggedInfo:
    source = context.catalog.table(statement.over.text)
    if source is None and statement.over.text.casefold() in context.catalog.broken:
        raise UnbindableError
    if not isinstance(source, StreamInfo):
        known = context.catalog.table_names()
        context.fail(
            "UNKNOWN_STREAM",
            f"there is no source {statement.over}",
            statement.over.span,
            did_you_mean(statement.over.text, known),
            name=statement.over.text,
        )
    names = {f.name.casefold(): f.name for f in source.columns if not f.hidden}
    key = []
    for name in statement.key:
        if name.text.casefold() not in names:
            context.fail(
                "UNKNOWN_COLUMN",
                f"{source.name} has no column {name}",
                name.span,
                did_you_mean(name.text, names.values()),
                column=name.text,
            )
        key.append(names[name.text.casefold()])
    return TaggedInfo(statement.name.text, source.name, tuple(key))


# DROP and SET.

_DROPPED_AS = {
    "STREAM": ("STREAM",),
    "SOURCE": ("STREAM",),
    "RELATION": ("RELATION",),
    "TABLE": ("RELATION",),
    "VIEW": ("VIEW",),
}


def _drop(context: Context, statement: Drop) -> None:
    if statement.name.text.casefold() in context.catalog.broken:
        return
    entry = context.catalog.table(statement.name.text)
    if statement.kind == "QUERY":
        if not statement.if_exists:
            message = f"there is no query {statement.name}"
            context.fail("UNKNOWN_NAME", message, statement.name.span, name=statement.name.text)
        return
    if entry is not None and statement.kind in ("STREAM", "RELATION", "TABLE", "VIEW", "SOURCE"):
        actual = "VIEW" if isinstance(entry, ViewInfo) and entry.kind != "STREAM" else "STREAM"
        actual = "RELATION" if isinstance(entry, RelationInfo) else actual
        if actual not in _DROPPED_AS[statement.kind]:
            context.fail(
                "WRONG_KIND",
                f"{entry.name} is a {actual.lower()}, not a {statement.kind.lower()}",
                statement.name.span,
                f"DROP {actual} {entry.name}",
                needs=statement.kind,
                got=actual,
            )
    found = context.catalog.find(statement.kind, statement.name.text)
    if found is not None:
        _check_unused(context, statement.name, found)
        context.catalog.drop(found)
    elif not statement.if_exists:
        known = [e.name for e in context.catalog.entries()]
        context.fail(
            "UNKNOWN_NAME",
            f"there is no {statement.kind.lower()} {statement.name}",
            statement.name.span,
            did_you_mean(statement.name.text, known),
            name=statement.name.text,
        )


def _check_unused(context: Context, name: Name, entry: Entry) -> None:
    """What live queries use stays: another of its name would be taken for it."""
    users = [query for query, uses in context.live.items() if key_of(entry) in uses]
    if users:
        context.fail(
            "IN_USE",
            f"{entry.name} is in use: {listing(users)} {'is' if len(users) == 1 else 'are'} live",
            name.span,
            "stop or drop what uses it first",
            name=entry.name,
            queries=users,
        )
