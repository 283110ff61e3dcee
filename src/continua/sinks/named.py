"""The sinks that INTO names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from continua.algebra.base import Kind
from continua.answers.answer_tables import written_as
from continua.answers.query import Query, deletion_key
from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.lang.statements import SourceCall
from continua.objects.urls import BucketUrl, Place, is_known, is_url, place_of
from continua.sinks.bucket_sink import BucketSink
from continua.sinks.by_spark import SparkSink
from continua.sinks.console import ConsoleSink
from continua.sinks.folder_sink import FolderSink, FolderWriter
from continua.sinks.formats import COMPRESSIONS
from continua.sinks.kafka_sink import KAFKA, KafkaSink, kafka_sink
from continua.sinks.postgres_sink import PostgresSink, postgres_sink
from continua.sinks.sink import Sink
from continua.sources.frame_sources import FRAMES, SPARK, TABLE, option_text
from continua.sources.postgres.database import POSTGRES

CONSOLE = "console"
_NAMES = (CONSOLE, *COMPRESSIONS, *FRAMES, KAFKA, POSTGRES)


def live_sink(query: Query, folder: Path, durable: bool = True) -> Sink | None:
    """Where a live query writes by itself: what INTO names, if it names anything."""
    if query.sink is not None and query.sink.function.text.lower() == CONSOLE:
        _check_console(query.sink)
        return ConsoleSink(query.name, query.columns, deletion_key(query))
    sink = sink_for(query.sink, folder)
    return replace(sink, durable=durable) if isinstance(sink, FolderSink) else sink


def sink_for(call: SourceCall | None, folder: Path) -> Sink | None:
    """The sink that INTO names; None for the console."""
    if call is None:
        return None
    if call.function.text.lower() == CONSOLE:
        _check_console(call)
        return None
    name = call.function.text.lower()
    if name in FRAMES:
        return _by_spark(call, name)
    if name == KAFKA:
        return kafka_sink(call)
    if name == POSTGRES:
        return postgres_sink(call)
    form = "json" if name == "jsonl" else name
    if form not in COMPRESSIONS:
        raise SourceError(
            Diagnostic(
                "UNKNOWN_SINK",
                f"INTO {call.function}(...) is not a sink that can be written",
                call.function.span,
                did_you_mean(name, _NAMES) or f"sinks: {', '.join(_NAMES)}",
                {"sink": name},
            )
        )
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str) or not call.arguments[0]:
        message = f"INTO {call.function}(...) takes one folder"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, f"{name}('folder')"))
    place = _place(call, call.arguments[0], folder)
    if isinstance(place, BucketUrl):
        return BucketSink(form, place, _compression(call, form))
    return FolderSink(form, place, compression=_compression(call, form))


def _place(call: SourceCall, name: str, folder: Path) -> Place:
    """Where a sink is. Other addresses are refused: of a folder of that name, made here, nobody would know."""
    if not is_url(name):
        return folder / name
    if not is_known(name):
        message = f"INTO {call.function}(...) writes to a folder or a bucket, and {name} is an address"
        hint = f"INTO spark('{call.function.text.lower()}', path => '{name}') has Spark write there"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint, {"folder": name}))
    return place_of(name)


def _by_spark(call: SourceCall, name: str) -> SparkSink:
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str) or not call.arguments[0]:
        hint = "spark('format', option => value)" if name == SPARK else "table('catalog.name')"
        message = f"INTO {call.function}(...) takes one name"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint))
    if name == TABLE and call.options:
        message = f"INTO {call.function}(...) has no options"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, "table('catalog.name')"))
    options = tuple((option, option_text(value)) for option, value in call.options)
    return SparkSink(name, call.arguments[0], options)


def _check_console(call: SourceCall) -> None:
    if call.arguments or call.options:
        message = f"INTO {call.function} takes nothing in parentheses"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, f"write INTO {CONSOLE}"))


def _compression(call: SourceCall, form: str) -> str | None:
    """The one option that a folder can have. Raises SourceError for others, and for what it cannot be."""
    known, found = COMPRESSIONS[form], None
    for option, value in call.options:
        parameters: dict[str, object] = {"sink": form, "option": option, "value": value}
        if option.lower() != "compression" or not known:
            message = f"{option} is not an option of INTO {call.function}(...)"
            hint = did_you_mean(option, ["compression"] if known else []) or (
                "its one option is compression" if known else f"{form} has no options"
            )
            raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint, parameters))
        found = str(value).lower()
        if found not in known:
            message = f"the option {option} of INTO {call.function}(...) cannot be {value!r}"
            hint = did_you_mean(found, known) or f"{form} has {listing(known)}"
            raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint, parameters))
    return found


def writer_for(query: Query, sink: Sink) -> FolderWriter | None:
    """How tasks write the answers of a query; None where the answers of one instant can be in several partitions."""
    if not isinstance(sink, FolderSink) or query.kind is Kind.TAGGED:
        return None
    return FolderWriter(sink, written_as(query), query.domain, tuple(query.columns))


def refuse_shared(sinks: Mapping[str, Sink]) -> None:
    """Refuses two queries that write to one place: their answers could not be told apart."""
    owners: dict[object, str] = {}
    place: object
    for query, sink in sinks.items():
        match sink:
            case FolderSink(folder=folder):
                place, what = folder.resolve(), f"one folder, {folder}"
            case BucketSink(place=url):
                place, what = str(url), f"one prefix, {url}"
            case KafkaSink(target=target):
                place, what = (KAFKA, target.topic, target.cluster.servers), f"one topic, {target.topic}"
            case PostgresSink(table=table, url=address):
                place, what = (POSTGRES, table, hash(address)), f"one table, {table}"
            case SparkSink():
                place, what = sink, str(sink)
            case _:
                continue
        other = owners.setdefault(place, query)
        if other != query:
            message = f"the queries {other} and {query} write to {what}"
            parameters: dict[str, object] = {"sink": str(place), "queries": [other, query]}
            raise SourceError(Diagnostic("SINK_SHARED", message, hint="name one for each", parameters=parameters))
