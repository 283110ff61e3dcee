"""The options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from continua.cli.script import Script, read_script
from continua.errors import ContinuaError
from continua.objects.urls import Place
from continua.policy import ANYTHING, VARIABLE, Policy, read_policy, refuse

if TYPE_CHECKING:
    from continua.session import Session

Command = TypeVar("Command", bound=Callable[..., Any])

DIALECTS = ("cql", "pipes", "sync")
"""Those of the catalog, which takes long to import."""
FORMATS = ("jsonl", "csv", "table")
"""In which answers can be printed."""

dialect_option = click.option(
    "--dialect",
    type=click.Choice(DIALECTS, case_sensitive=False),
    default=DIALECTS[0],
    show_default=True,
    help="Whose defaults apply where the text leaves something open.",
)

script_argument = click.argument("script", callback=read_script)


def data_option(default: str) -> Callable[[Command], Command]:
    """--data, with what its default is."""
    return click.option(
        "--data",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help=f"The folder of relative source paths.  [default: {default}]",
    )


def _read_policy(ctx: click.Context, param: click.Parameter, value: Path | None) -> Policy:
    try:
        return ANYTHING if value is None else read_policy(value)
    except ContinuaError as error:
        raise click.BadParameter(error.diagnostics[0].message, ctx, param) from None


policy_option = click.option(
    "--policy",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_read_policy,
    envvar=VARIABLE,
    metavar="FILE",
    help="What scripts may call, read and write, as TOML.  [default: everything]",
)


def look_for_functions_in(folder: Path, policy: Policy) -> None:
    """Has Python functions also looked for in a folder, unless others may have put modules there."""
    beside = str(folder.resolve())
    if not policy.is_limited and beside not in sys.path:
        sys.path.append(beside)


def session_for(
    script: Script,
    dialect: str,
    data: Path | None,
    policy: Policy,
    master: str | None = None,
    checkpoint: Place | None = None,
) -> Session:
    """A session for a script; Python functions are also looked for beside the script, as Python itself does."""
    from continua.session import Session

    look_for_functions_in(script.folder, policy)
    session = Session(data=data or script.folder, dialect=dialect, master=master, policy=policy)
    if checkpoint is not None:
        refuse(session.catalog.policy.keeps(checkpoint))
    return session
