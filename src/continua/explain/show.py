"""SHOW and DESCRIBE: the catalog as tables."""

from __future__ import annotations

from continua.binding.context import Context, UnbindableError
from continua.catalog import (
    AggregateInfo,
    Catalog,
    Entry,
    FunctionInfo,
    RelationInfo,
    StreamInfo,
    TaggedInfo,
    ViewInfo,
    WindowInfo,
)
from continua.errors import did_you_mean
from continua.lang.statements import Name, WindowSyntax

Table = tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]


def kind_name(entry: Entry) -> str:
    """What an entry is, in a word."""
    match entry:
        case StreamInfo():
            return "stream"
        case RelationInfo(source=None, order_by=None):
            return "table"
        case RelationInfo():
            return "relation"
        case TaggedInfo():
            return "tagged stream"
        case ViewInfo(kind="STREAM"):
            return "derived stream"
        case ViewInfo(kind="STREAMED"):
            return "streamed view"
        case ViewInfo():
            return "view"
        case FunctionInfo():
            return "function"
        case AggregateInfo():
            return "aggregate"
        case WindowInfo():
            return "window"


_SHOWN = {
    "STREAMS": ("stream", "tagged stream", "derived stream"),
    "RELATIONS": ("relation", "table"),
    "TABLES": ("relation", "table"),
    "VIEWS": ("view", "streamed view", "derived stream"),
    "FUNCTIONS": ("function", "aggregate"),
    "AGGREGATES": ("aggregate",),
    "WINDOWS": ("window",),
}


def show(catalog: Catalog, what: str) -> Table:
    """SHOW: names, kinds and columns."""
    kinds = _SHOWN.get(what)
    chosen = [e for e in catalog.entries() if kinds is None or kind_name(e) in kinds]
    return ("name", "kind", "columns"), tuple((e.name, kind_name(e), _summary(catalog, e)) for e in chosen)


def _summary(catalog: Catalog, entry: Entry) -> str:
    match entry:
        case (
            FunctionInfo(parameters=parameters, returns=returns) | AggregateInfo(parameters=parameters, returns=returns)
        ):
            return "(" + ", ".join(f"{n} {t}" for n, t in parameters) + f") -> {returns}"
        case WindowInfo(definition=definition, parameters=names):
            return definition.text if isinstance(definition, WindowSyntax) else "(" + ", ".join(names) + ")"
        case _:
            return ", ".join(f"{name} {kind}" for name, kind, _ in columns_of(catalog, entry))


def describe(context: Context, name: Name) -> Table:
    """DESCRIBE: the columns of a stream, relation or view."""
    entry = context.catalog.table(name.text)
    if entry is None and name.text.casefold() in context.catalog.broken:
        raise UnbindableError
    if entry is None:
        known = context.catalog.table_names()
        context.fail("UNKNOWN_NAME", f"there is no {name}", name.span, did_you_mean(name.text, known), name=name.text)
    return ("column", "type", "note"), tuple(columns_of(context.catalog, entry))


def columns_of(catalog: Catalog, entry: Entry) -> list[tuple[str, str, str]]:
    """The columns of an entry: their names, types, and what is to be noted."""
    match entry:
        case StreamInfo() | RelationInfo():
            notes: dict[str | None, str] = dict.fromkeys(entry.key, "key")
            notes[entry.order_by] = "orders the stream, not in *"
            if isinstance(entry, RelationInfo) and entry.tagged_by:
                notes[entry.tagged_by] = "tag: + - u"
            if isinstance(entry, StreamInfo) and entry.valid:
                notes |= {entry.valid[0]: "valid from, not in *", entry.valid[1]: "valid to, not in *"}
            for name, number in entry.statistics:
                place = {"rate": entry.order_by}.get(name, name)
                told = f"{number:g} " + ("elements a unit of time" if name == "rate" else "values")
                notes[place] = ", ".join(filter(None, (notes.get(place), told)))
            return [(f.name, str(f.type), notes.get(f.name, "")) for f in entry.columns]
        case TaggedInfo(over=over, key=key):
            source = catalog.table(over)
            columns = source.columns if isinstance(source, StreamInfo) else ()
            return [(f.name, str(f.type), "key" if f.name in key else "") for f in columns if not f.hidden]
        case ViewInfo(plan=plan):
            return [(f.short, str(f.type), "") for f in plan.schema]
        case _:
            return []
