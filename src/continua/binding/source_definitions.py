"""Definitions of sources: streams, relations and tables with their clauses, and tagged streams over them."""

from __future__ import annotations

from continua.algebra.leaves import Values
from continua.algebra.schema import Field
from continua.binding.context import Context, UnbindableError
from continua.binding.declared_statistics import bind_statistics
from continua.binding.permissions import check_source
from continua.binding.queries import QueryBinder
from continua.binding.row_functions import with_function
from continua.catalog import LOG_TAG, LOG_TIME, RelationInfo, SourcePartitions, StreamInfo, TaggedInfo
from continua.errors import Span, did_you_mean, listing
from continua.instants import Duration, TimeDomain
from continua.lang.statements import CreateSource, CreateTagged, Name
from continua.types import STRING, TIMESTAMP, DataType, comparable


def source_definition(context: Context, statement: CreateSource) -> StreamInfo | RelationInfo:
    """What CREATE STREAM, RELATION, TABLE or REGISTER SOURCE declares."""
    if statement.query is not None:
        return _constant_table(context, statement)
    check_source(context, statement.source)
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
    _no_policy(context, statement)
    if statement.within is not None and order_by is None:
        context.error(
            "UNTIMED_CHECK",
            "a key is checked within a time, and these rows are of no instant of their own",
            statement.within_span,
            "add ORDERED BY and the timestamp column",
        )
    return StreamInfo(
        statement.name.text,
        _fields(statement, hidden),
        domain,
        order_by,
        _slack(context, statement, domain),
        valid,
        _key(context, statement),
        with_function(context, statement.source),
        statement.skip_errors,
        bind_statistics(context, statement, ("rate",)),
        _partitions(context, statement),
        _length(context, statement, "CHECKED WITHIN", statement.within, statement.within_span, domain),
        _whole_number(context, statement, "position", statement.position),
        _whole_number(context, statement, "batch", statement.batch),
    )


def _relation(context: Context, statement: CreateSource) -> RelationInfo:
    hidden: list[str] = []
    domain = TimeDomain.TICKS
    order_by = tagged_by = None
    if statement.valid_from is not None:
        context.error("VALID_RELATION", "VALID FROM belongs to a stream", statement.valid_from.span)
    for word, given in (("POSITION", statement.position), ("BATCH", statement.batch)):
        if given is not None:
            message = f"{word} belongs to a stream: rows of a relation are in no order"
            context.error("POSITION_OF_RELATION", message, given.span, clause=word)
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
    else:
        _no_policy(context, statement)
    refresh = _refresh(context, statement)
    fields = _fields(statement, hidden)
    if order_by is None and (refresh is not None or _is_followed(statement)):
        order_by, tagged_by, domain = LOG_TIME, LOG_TAG, TimeDomain.MICROSECONDS
        fields += (Field(LOG_TIME, TIMESTAMP, hidden=True), Field(LOG_TAG, STRING, hidden=True))
    elif _is_followed(statement):
        message = f"{statement.name} follows a table, whose changes have their own times and tags"
        context.error("TIMED_TWICE", message, statement.name.span, "leave ORDERED BY and TAGGED BY out")
    if statement.within is not None:
        context.error(
            "CHECKED_RELATION",
            "CHECKED WITHIN belongs to the key of a stream: a relation has one row of a key anyway",
            statement.within_span,
        )
    return RelationInfo(
        statement.name.text,
        fields,
        _key(context, statement),
        order_by,
        tagged_by,
        domain,
        _slack(context, statement, domain),
        with_function(context, statement.source),
        statement.skip_errors,
        statistics=bind_statistics(context, statement, ("rate", "rows")),
        partitions=_partitions(context, statement),
        upsert=_is_upsert(statement.policy),
        refresh=refresh,
    )


def _is_followed(statement: CreateSource) -> bool:
    """Whether the changes of a table are followed."""
    source = statement.source
    return statement.kind == "RELATION" and source is not None and source.function.text.lower() == _DATABASE


def _refresh(context: Context, statement: CreateSource) -> int | None:
    """REFRESH EVERY: it makes sense for tables that can be read again."""
    if statement.refresh is None:
        return None
    hint = None
    if statement.kind != "TABLE":
        message, hint = f"{statement.name} is no table", "write CREATE TABLE"
    elif statement.order_by is not None or statement.tagged_by is not None:
        message = f"{statement.name} is read again as a whole, and its rows have no times of their own"
    elif statement.source is None:
        message = f"{statement.name} has no SOURCE that can be read again"
    elif statement.refresh.amount < 1:
        message = f"{statement.name} can not be read again all the time"
        hint = "write REFRESH EVERY '1 minute'"
    else:
        return _length(
            context, statement, "REFRESH EVERY", statement.refresh, statement.refresh_span, TimeDomain.MICROSECONDS
        )
    context.error("NOT_REFRESHED", message, statement.refresh_span, hint)
    return None


def _whole_number(context: Context, statement: CreateSource, what: str, name: Name | None) -> str | None:
    """The column with the position of an element in Astral's sense, or with its batch."""
    if name is None:
        return None
    found = _column(context, statement, name)
    column = next(c.type for c in statement.columns if c.name.text == found)
    if not column.is_integer:
        context.error(
            "TYPE_MISMATCH",
            f"{found} is {column}: a {what} is a whole number",
            name.span,
            left="BIGINT",
            right=str(column),
        )
    return found


def _is_upsert(policy: Name | None) -> bool:
    return policy is not None and policy.text == "UPSERT"


def _no_policy(context: Context, statement: CreateSource) -> None:
    if statement.policy is not None:
        context.error(
            "POLICY_WITHOUT_TAGS",
            f"{statement.policy} says what becomes of tagged modifications, and {statement.name} has none",
            statement.policy.span,
            "add TAGGED BY and the column with the tag, or leave it out",
            policy=statement.policy.text,
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
    return _length(context, statement, "SLACK", statement.slack, statement.slack_span, domain) or 0


def _length(
    context: Context, statement: CreateSource, word: str, given: Duration | None, span: Span | None, domain: TimeDomain
) -> int | None:
    """A length of time of a definition, in instants of its domain; None where none is given."""
    if given is None:
        return None
    length = given.instants(domain)
    if length is None:
        context.fail(
            "UNIT_OF_TICKS",
            f"{word} {given}: {statement.name} is ordered by integers, which have no unit",
            span,
            f"write {word} {given.amount}",
            unit=given.unit,
        )
    return length


_FRAMES = ("spark", "table")
_TOPIC = "kafka"
_DATABASE = "postgres"


def _partitions(context: Context, statement: CreateSource) -> SourcePartitions | None:
    """PARTITIONED BY: it makes sense where rows have times of their own, and where there is what it names."""
    given = statement.partitioned
    topic = statement.source is not None and statement.source.function.text.lower() == _TOPIC
    if given is None:
        is_timed = statement.order_by is not None or statement.valid_from is not None
        return SourcePartitions() if topic and is_timed else None
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
        hint = "write PARTITIONED BY FILE"
        if topic:
            message = f"the partitions of {statement.name} are those of its topic"
            hint = "leave PARTITIONED BY out"
        context.error("NOT_BY_COLUMN", message, given.span, hint)
    names = [_column(context, statement, n) for n in (given.column, given.offset) if n is not None]
    for name, at in zip(names, (given.column, given.offset), strict=False):
        column = next(c for c in statement.columns if c.name.text == name)
        if not column.type.is_integer:
            message = f"{name} is {column.type}: partitions and offsets are whole numbers"
            context.error("NOT_A_NUMBER", message, at.span if at else None, column=name, type=str(column.type))
    return SourcePartitions(names[0], names[1] if len(names) > 1 else None)


def tagged_definition(context: Context, statement: CreateTagged) -> TaggedInfo:
    """What CREATE STREAM ... OVER declares (SyncSQL 2.1)."""
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
    if statement.policy is not None and not key:
        context.error(
            "POLICY_WITHOUT_KEY",
            f"{statement.policy} says what becomes of rows with the same key, and {statement.name} has no key",
            statement.policy.span,
            policy=statement.policy.text,
        )
    return TaggedInfo(statement.name.text, source.name, tuple(key), _is_upsert(statement.policy))
