"""The options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from continua.cli.script import Script, read_script

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


def session_for(script: Script, dialect: str, data: Path | None, master: str | None = None) -> Session:
    """A session for a script; Python functions are also looked for beside the script, as Python itself does."""
    from continua.session import Session

    beside = str(script.folder.resolve())
    if beside not in sys.path:
        sys.path.append(beside)
    return Session(data=data or script.folder, dialect=dialect, master=master)
