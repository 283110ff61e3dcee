"""Statements as typed values, with the place in the script where they stand.

Queries stay sqlglot trees until they are bound; everything else of a statement is plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from sqlglot import exp

from continua.errors import Span
from continua.instants import Duration
from continua.types import DataType
from continua.windows.spec import WindowSpec


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier and where it stands."""

    text: str
    span: Span

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column."""

    name: Name
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A Python function whose rows come once, what it is called with, and what makes a row of each that it gives."""

    shown: str
    function: Callable[..., Iterable[object]]
    arguments: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    converter: Callable[[object], object] | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """secret('NAME'): what only the environment knows, or a file that it names."""

    name: str

    def __str__(self) -> str:
        return f"secret('{self.name}')"


@dataclass(frozen=True, slots=True)
class SourceCall:
    """SOURCE f('argument', option => value): where the rows come from."""

    function: Name
    arguments: tuple[object, ...]
    options: tuple[tuple[str, object], ...] = ()
    made: RowFunction | None = field(default=None, compare=False)
    """The function that gives the rows, once a definition is bound, where they come once."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """PARTITIONED BY FILE, or BY column OFFSET column: which rows of a source are a sequence of their own."""

    span: Span | None = field(default=None, compare=False)
    column: Name | None = None
    """None: each file."""
    offset: Name | None = None


@dataclass(frozen=True, slots=True)
class CreateSource:
    """CREATE STREAM | RELATION | TABLE name (columns) SOURCE ..., and SyncSQL's REGISTER SOURCE."""

    kind: str
    name: Name
    columns: tuple[ColumnDef, ...]
    source: SourceCall | None
    order_by: Name | None = None
    slack: Duration | None = None
    slack_span: Span | None = field(default=None, compare=False)
    valid_from: Name | None = None
    valid_to: Name | None = None
    tagged_by: Name | None = None
    key: tuple[Name, ...] = ()
    skip_errors: bool = False
    query: exp.Query | None = None
    replace: bool = False
    statistics: tuple[tuple[Name, object], ...] = ()
    partitioned: Partitioned | None = None
    policy: Name | None = None
    """STRICT or UPSERT: what becomes of modifications that do not fit the relation."""
    within: Duration | None = None
    """KEY ... CHECKED WITHIN: for how long a key is checked."""
    within_span: Span | None = field(default=None, compare=False)
    refresh: Duration | None = None
    """REFRESH EVERY: after how long the source is read again."""
    refresh_span: Span | None = field(default=None, compare=False)
    position: Name | None = None
    """The column by which elements of one instant are in order."""
    batch: Name | None = None
    """The column that tells the batches of one instant apart."""


@dataclass(frozen=True, slots=True)
class CreateTagged:
    """CREATE STREAM name OVER source KEY columns | NULL [STRICT | UPSERT] (SyncSQL 2.1)."""

    name: Name
    over: Name
    key: tuple[Name, ...]
    replace: bool = False
    policy: Name | None = None


@dataclass(frozen=True, slots=True)
class CreateDerived:
    """CREATE STREAM name AS query; CREATE [STREAMED | COMPLETE] VIEW name AS query."""

    kind: str
    mode: str | None
    name: Name
    columns: tuple[Name, ...]
    query: exp.Query
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a user-defined function, aggregate or window."""

    name: Name
    type: DataType | None


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE FUNCTION name(parameters) RETURNS type AS expression | LANGUAGE PYTHON AS 'module:function'."""

    name: Name
    parameters: tuple[Parameter, ...]
    returns: DataType | None
    body: exp.Expr | None
    python: str | None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateAggregate:
    """CREATE AGGREGATE name(parameters) RETURNS type LANGUAGE PYTHON AS 'module:Class' [ORDER FREE] (PIPES 7.5)."""

    name: Name
    parameters: tuple[Parameter, ...]
    returns: DataType
    python: str
    replace: bool = False
    order_free: bool = False


@dataclass(frozen=True, slots=True)
class CreateWindow:
    """CREATE WINDOW name[(parameters)] AS [window] | LANGUAGE PYTHON AS 'module:function'."""

    name: Name
    parameters: tuple[Parameter, ...]
    definition: WindowSyntax | str
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP kind [IF EXISTS] name."""

    kind: str
    name: Name
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW STREAMS | RELATIONS | TABLES | VIEWS | FUNCTIONS | WINDOWS | QUERIES | ALL."""

    what: str


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE name."""

    name: Name


@dataclass(frozen=True, slots=True)
class StartingAt:
    """STARTING AT EARLIEST | instant: where a query is to start, although it may join a run later.

    The instant is a number, or the text of a timestamp; None stands for the earliest that is possible.
    """

    instant: int | str | None
    span: Span
    """Where it stands."""


@dataclass(frozen=True, slots=True)
class QueryStatement:
    """REGISTER QUERY name [GROUP group] [STARTING AT EARLIEST | instant] AS query [INTO sink(...)], or a bare query."""

    name: Name | None
    query: exp.Query
    sink: SourceCall | None = None
    group: Name | None = None
    starting: StartingAt | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN [LOGICAL | REWRITES | PHYSICAL | SHARING] query."""

    stage: str
    query: exp.Query


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET name = value."""

    name: Name
    value: object


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO name [(columns)] VALUES (...), (...)."""

    name: Name
    columns: tuple[Name, ...]
    query: exp.Values


@dataclass(frozen=True, slots=True)
class Start:
    """START [QUERY] name: a query that was stopped is live again."""

    name: Name


@dataclass(frozen=True, slots=True)
class Stop:
    """STOP [QUERY] name: a query is live no more."""

    name: Name


@dataclass(frozen=True, slots=True)
class Watch:
    """WATCH [name, ...] [FOR length | FOR n CHANGES]; without names, all live queries."""

    names: tuple[Name, ...] = ()
    length: Duration | None = None
    changes: int | None = None


@dataclass(frozen=True, slots=True)
class SelectAt:
    """SELECT ... AT instant: what the query's relation holds then.

    The instant is a number, or the text of a timestamp; None stands for the latest that is closed.
    """

    query: exp.Query
    instant: int | str | None
    span: Span
    """Where the instant stands."""


LiveStatement: TypeAlias = Insert | Start | Stop | Watch | SelectAt
"""What is said to rows and to live queries."""
StatementBody: TypeAlias = (
    CreateSource
    | CreateTagged
    | CreateDerived
    | CreateFunction
    | CreateAggregate
    | CreateWindow
    | Drop
    | Show
    | Describe
    | QueryStatement
    | Explain
    | SetOption
    | LiveStatement
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and the stretch of text that it stands in."""

    body: StatementBody
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class BoundSyntax:
    """A bound of a window sequence as written: an expression of ``j`` and its unit."""

    expression: exp.Expr
    unit: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class RateSyntax:
    """How often a window moves, as written: a length of time, or a number of rows."""

    amount: Duration | int


UNBOUNDED: Literal["UNBOUNDED"] = "UNBOUNDED"
START: Literal["START"] = "START"


@dataclass(frozen=True, slots=True)
class RatesSyntax:
    """CASE WHEN condition THEN length ... ELSE length END."""

    cases: tuple[tuple[exp.Expr, Duration], ...]
    otherwise: Duration


@dataclass(frozen=True, slots=True)
class LoopSyntax:
    """(t = begin; condition; t = the point behind t), as TelegraphCQ writes loops."""

    begin: BoundSyntax
    condition: exp.Expr
    following: BoundSyntax


ClauseSyntax: TypeAlias = (
    Duration
    | int
    | Literal["UNBOUNDED", "START"]
    | RateSyntax
    | RatesSyntax
    | BoundSyntax
    | tuple[BoundSyntax, BoundSyntax]
    | LoopSyntax
    | exp.Expr
    | None
)
"""What stands behind a word of a window; None where nothing does."""


@dataclass(frozen=True, slots=True)
class SampleSyntax:
    """SAMPLE percent PERCENT [REPEATABLE (seed)]."""

    percent: Decimal
    seed: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class WindowSyntax:
    """A window as written.

    ``kind`` is that of its spelling; a user-defined window has a name instead. ``form`` is ``bracket`` (CQL's bounds)
    or ``window`` (PIPES' bounds). ``clauses`` has what stands behind each of its words, in their order.
    """

    kind: type[WindowSpec]
    form: str
    span: Span
    clauses: tuple[tuple[str, ClauseSyntax], ...] = ()
    partition: tuple[Name, ...] = ()
    name: Name | None = None
    arguments: tuple[Duration, ...] = ()
    text: str = ""
    sample: SampleSyntax | None = None
