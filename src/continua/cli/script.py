"""A script: its text, the name under which messages speak of it, and its folder."""

from __future__ import annotations

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


class ScriptFile(click.ParamType):
    """The name of a script file, or ``-`` for standard input. One that cannot be read is a wrong command line."""

    name = "script"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Script:
        """Reads the script."""
        if isinstance(value, Script):
            return value
        path = Path(str(value))
        try:
            if str(value) == STDIN:
                return Script(script_text(click.get_binary_stream("stdin").read()), "<stdin>", Path())
            return Script(script_text(path.read_bytes()), str(value), path.parent)
        except OSError as error:
            self.fail(f"{value} cannot be read: {error.strerror or error}", param, ctx)
        except UnicodeDecodeError as error:
            self.fail(f"{value} is not UTF-8 text: byte {error.start} is wrong", param, ctx)
