"""A script: its text, the name under which messages speak of it, and its folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Script:
    """A script that has been read."""

    text: str
    name: str
    folder: Path


def script_text(raw: bytes) -> str:
    """The text of a script, with Unix line ends and without a byte order mark. Raises UnicodeDecodeError."""
    return raw.decode("utf-8-sig").replace("\r\n", "\n")


def read_script(ctx: click.Context, param: click.Parameter, value: str) -> Script:
    """The script in a file, or on standard input for ``-``. One that cannot be read is a wrong command line."""
    path = Path(value)
    try:
        if value == STDIN:
            return Script(script_text(sys.stdin.buffer.read()), "<stdin>", Path())
        return Script(script_text(path.read_bytes()), value, path.parent)
    except OSError as error:
        raise click.BadParameter(f"{value} cannot be read: {error.strerror or error}", ctx, param) from None
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{value} is not UTF-8 text: byte {error.start} is wrong", ctx, param) from None
