"""What scripts may do: each source, sink and function of a script is asked about before anything is done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from continua.binding.context import Context
from continua.errors import Diagnostic, Span
from continua.lang.statements import Secret, SourceCall
from continua.objects.urls import is_url
from continua.policy import Policy

_FILES = ("csv", "json", "jsonl", "parquet", "orc", "text")
_SPARK_FILES = (*_FILES, "avro", "binaryfile", "xml")
_CLIENT = ("security_protocol", "sasl_mechanism", "sasl_mechanisms", "sasl_username", "sasl_password")
_CLIENT_FILES = ("ssl_ca_location", "ssl_certificate_location", "ssl_key_location", "ssl_crl_location")
_CLIENT_TEXTS = ("ssl_ca_pem", "ssl_certificate_pem", "ssl_key_pem", "ssl_key_password", "enable_ssl_")
_DATABASE = ("user", "password", "dbname", "sslmode", "connect_timeout", "application_name")
"""What may stand in the URL of a database beside its hosts: other words name files and commands of this machine."""


def check_source(context: Context, call: SourceCall | None) -> None:
    """Refuses a source that may not be read. What was registered from Python is the process's own."""
    if call is not None and call.function.text.casefold() not in context.catalog.row_functions:
        _check(context, call, _of_source(context.catalog.policy, call))


def check_sink(context: Context, call: SourceCall | None) -> None:
    """Refuses a sink that may not be written."""
    if call is not None:
        _check(context, call, _of_sink(context.catalog.policy, call))


def check_function(context: Context, path: str, span: Span | None) -> None:
    """Refuses a function that may not be called, before its module is imported."""
    _fail(context, context.catalog.policy.function(path), span)


def check_imported(context: Context, path: str, found: object, span: Span | None) -> None:
    """Refuses what a module that may be used has from another one."""
    _fail(context, context.catalog.policy.imported(path, found), span)


def _check(context: Context, call: SourceCall, asked: Iterator[Diagnostic | None]) -> None:
    if context.catalog.policy.is_limited:
        _fail(context, next((found for found in asked if found is not None), None), call.function.span)


def _fail(context: Context, found: Diagnostic | None, span: Span | None) -> None:
    if found is not None:
        context.fail(found.condition, found.message, span, found.hint, **found.parameters)


def _of_source(policy: Policy, call: SourceCall) -> Iterator[Diagnostic | None]:
    name, first = _called(call)
    yield policy.source(_named(name, first))
    match name:
        case "python":
            yield policy.function(first)
        case "socket":
            yield policy.host(first, str(call.arguments[1]) if len(call.arguments) > 1 else "")
    yield from _reached(policy, call, policy.reads)


def _of_sink(policy: Policy, call: SourceCall) -> Iterator[Diagnostic | None]:
    yield policy.sink(_named(*_called(call)))
    yield from _reached(policy, call, policy.writes)


def _reached(
    policy: Policy, call: SourceCall, place: Callable[[str], Diagnostic | None]
) -> Iterator[Diagnostic | None]:
    """What sources and sinks reach alike; ``place`` asks about paths."""
    name, first = _called(call)
    yield from _secrets(policy, call)
    match name:
        case "kafka":
            yield from _kafka(policy, call)
        case "postgres":
            yield from _postgres(policy, call)
        case "table":
            yield policy.table(first)
        case "spark":
            yield from _spark(call, place)
        case _ if name in _FILES:
            yield place(first)


def _called(call: SourceCall) -> tuple[str, str]:
    """The name of a source or sink, and its first argument."""
    return call.function.text.casefold(), str(call.arguments[0]) if call.arguments else ""


def _named(name: str, first: str) -> str:
    return f"spark:{first}" if name == "spark" else name


def _options(call: SourceCall) -> dict[str, object]:
    return {name.casefold(): value for name, value in call.options}


def _secrets(policy: Policy, call: SourceCall) -> Iterator[Diagnostic | None]:
    for _, value in call.options:
        if isinstance(value, Secret):
            yield policy.secret(value.name)


def _kafka(policy: Policy, call: SourceCall) -> Iterator[Diagnostic | None]:
    """The client has options that run commands and load libraries: those that are known to be harmless are let through.

    Servers that are a secret are known to whoever has permitted it.
    """
    for option, value in _options(call).items():
        if option == "servers" and not isinstance(value, Secret):
            for server in str(value).split(","):
                host, _, port = server.strip().rpartition(":")
                yield policy.host(host or server.strip(), port if host else "9092")
        elif option == "registry" and not isinstance(value, Secret):
            yield _registry(policy, call, str(value))
        elif option == "dead_letters":
            yield policy.sink("kafka")
        elif option in _CLIENT_FILES or option == "schema":
            yield policy.reads(str(value))
        elif option.startswith(("client_", "enable_ssl_", "sasl_", "security_", "ssl_")):
            harmless = option in _CLIENT or option.startswith(_CLIENT_TEXTS)
            yield None if harmless else _option(call, option)


def _registry(policy: Policy, call: SourceCall, url: str) -> Diagnostic | None:
    """What is wrong with asking a registry of schemas."""
    try:
        told = urlsplit(url)
        return policy.host(told.hostname or "", str(told.port or (443 if told.scheme == "https" else 80)))
    except ValueError:
        return _option(call, "registry")


def _postgres(policy: Policy, call: SourceCall) -> Iterator[Diagnostic | None]:
    url = _options(call).get("url")
    if isinstance(url, Secret) or url is None:
        return
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        return  # without the package nothing is connected to
    try:
        told = conninfo_to_dict(str(url))
    except Error:
        yield _option(call, "url")
        return
    hosts = str(told.pop("host", "") or "").split(",")
    addresses = str(told.pop("hostaddr", "") or "")
    ports = str(told.pop("port", "") or "5432").split(",")
    for place, host in enumerate([*hosts, *filter(None, addresses.split(","))]):
        yield policy.host(host, ports[place] if place < len(ports) else ports[0])
    for name in told:
        yield None if name in _DATABASE else _option(call, name)


def _spark(call: SourceCall, place: Callable[[str], Diagnostic | None]) -> Iterator[Diagnostic | None]:
    """Spark finds relative paths by itself, and follows globs and links, so that a path has to be plain."""
    form = str(call.arguments[0]).casefold() if call.arguments else ""
    options = _options(call)
    if "paths" in options:
        yield _option(call, "paths")
    path = options.get("path")
    if path is None:
        yield _option(call, "path") if form in _SPARK_FILES else None
        return
    text = str(path)
    yield place(text)
    if not is_url(text):
        if any(character in text for character in "*?[]{}\\,") or urlsplit(text).scheme or not Path(text).is_absolute():
            yield _option(call, "path")
        yield from (place(str(found)) for found in Path(text).rglob("*") if found.is_symlink())


def _option(call: SourceCall, option: str) -> Diagnostic:
    message = f"{call.function}(...) may not have this option, or not with this value: {option}"
    hint = "the policy of this process limits what can be reached by options; a path of Spark's is absolute and plain"
    return Diagnostic("OPTION_NOT_PERMITTED", message, hint=hint, parameters={"option": option})
