"""``continua serve``: a session that others reach through the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from continua.cli.commands import debug_option
from continua.cli.durations import seconds
from continua.cli.engine_options import EngineOptions, master_option, starting_spark
from continua.cli.places import PLACE
from continua.cli.shared_options import data_option, dialect_option
from continua.errors import BindError, ContinuaError, Diagnostic
from continua.objects.urls import Place
from continua.policy import DATA, NOTHING, VARIABLE, Policy, read_policy

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option("--state", type=PLACE, help="Where catalog and answers are kept: a folder, or s3://, gs://, az://.")
@data_option("the current folder")
@dialect_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8088, show_default=True, help="The port of HTTP.")
@click.option("--pg-port", type=click.IntRange(0, 65535), help="A port for PostgreSQL's protocol.")
@click.option("--require-token", is_flag=True, help="Ask for tokens on this machine too, as is done everywhere else.")
@click.option("--tls-cert", type=_FILE, help="A certificate, with which connections are encrypted.")
@click.option("--tls-key", type=_FILE, help="Its key, where that is in another file.")
@click.option("--oidc-issuer", metavar="URL", help="Somebody who signs tokens, by OpenID Connect.")
@click.option("--oidc-audience", metavar="NAME", default="continua", show_default=True, help="For whom these must be.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="Another site whose pages may ask.")
@click.option("--audit", type=_FILE, help="Where it is written down who asked what.  [default: audit.jsonl in --state]")
@click.option(
    "--policy",
    "policy_file",
    type=_FILE,
    envvar=VARIABLE,
    metavar="FILE",
    help="What others may have it call, read and write, as TOML.  [default: read what is in --data]",
)
@click.option("--max-body", type=click.IntRange(min=1024), metavar="BYTES", help="Of rows that are sent.")
@click.option("--max-statement", type=click.IntRange(min=1024), metavar="BYTES", help="Of a script that is sent.")
@click.option("--max-queries", type=click.IntRange(min=1), metavar="N", help="That somebody may have registered.")
@click.option("--max-seconds", callback=seconds, metavar="D", help="That an answer may take.")
@click.option("--partitions", type=click.IntRange(min=1), metavar="P", help="How many parts work is divided into.")
@click.option(
    "--idle-timeout", callback=seconds, metavar="D", help="Do not wait for a source that has been silent for so long."
)
@master_option
@debug_option
def serve(
    state: Place | None,
    data: Path | None,
    dialect: str,
    host: str,
    port: int,
    pg_port: int | None,
    require_token: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    oidc_issuer: str | None,
    oidc_audience: str,
    origins: tuple[str, ...],
    audit: Path | None,
    policy_file: Path | None,
    max_body: int | None,
    max_statement: int | None,
    max_queries: int | None,
    max_seconds: float | None,
    partitions: int | None,
    idle_timeout: float | None,
    master: str,
) -> None:
    """Serve queries to others by HTTP, until Ctrl-C or SIGTERM.

    What is defined, what runs and what was answered is in --state, and goes on after a restart; without it, it ends
    with the process. Elsewhere than on this machine everybody needs a token: continua token makes some.
    """
    from continua.server.access import Access, is_loopback
    from continua.server.audit import Audit
    from continua.server.limits import Limits
    from continua.server.listening import Address, listen
    from continua.server.oidc import OpenId
    from continua.server.service import Service, ServiceOptions
    from continua.server.serving import Server

    try:
        policy = _policy(policy_file, data)
    except ContinuaError as error:
        raise click.BadParameter(error.diagnostics[0].message, param_hint="--policy") from None
    options = ServiceOptions(state, data or Path(), dialect, master, partitions, idle_timeout, policy=policy)
    if max_queries is not None:
        options = replace(options, queries=max_queries)
    told = {"body_bytes": max_body, "statement_bytes": max_statement, "seconds": max_seconds}
    limits = Limits(**{name: value for name, value in told.items() if value is not None})  # type: ignore[arg-type]
    audit = audit or (state / "audit.jsonl" if isinstance(state, Path) else None)
    with starting_spark(EngineOptions(master=master)) as spark:
        try:
            service = Service(options)
            issuer = None if oidc_issuer is None else OpenId(oidc_issuer, oidc_audience)
            if issuer is not None:
                issuer.check()
            access = Access(service.tokens, require_token or not is_loopback(host), issuer, origins)
            if access.required and issuer is None and not service.tokens.known():
                raise _no_tokens(state)
            if spark is not None:
                spark.session()
            service.begin()
            try:
                listen(Server(service, access, limits, Audit(audit)), Address(host, port, tls_cert, tls_key, pg_port))
            finally:
                service.close()
        except ContinuaError as error:
            raise click.ClickException(error.render()) from None


def _policy(file: Path | None, data: Path | None) -> Policy:
    """What a file says; else nothing but what is in a folder that was named for that may be read."""
    if file is not None:
        return read_policy(file)
    return NOTHING if data is None else replace(NOTHING, read=(DATA,))


def _no_tokens(state: Place | None) -> BindError:
    where = "FOLDER" if state is None else str(state)
    hint = f"make one: continua token --state {where} --role admin NAME"
    return BindError(Diagnostic("NO_TOKENS", "nobody could ask: there are no tokens", hint=hint))
