"""What ``secret('NAME')`` stands for: it is looked up where it is used, and written down nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from continua.errors import Diagnostic, SourceError
from continua.lang.statements import Secret

_FILE = "_FILE"
"""The end of the name of the variable that names a file with a secret."""


def revealed(value: object) -> object:
    """The value of an option; of a secret what the environment, or the file that it names, says.

    Raises SourceError where neither is there.
    """
    if not isinstance(value, Secret):
        return value
    found = os.environ.get(value.name)
    if found is not None:
        return found
    path = os.environ.get(value.name + _FILE)
    if path is None:
        message = f"there is no secret {value.name}"
        hint = f"set the variable {value.name}, or {value.name}{_FILE} to the name of a file with it"
        raise SourceError(Diagnostic("UNKNOWN_SECRET", message, hint=hint, parameters={"secret": value.name}))
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        message = f"the file of the secret {value.name} cannot be read: {error}"
        raise SourceError(Diagnostic("UNKNOWN_SECRET", message, parameters={"secret": value.name})) from None
