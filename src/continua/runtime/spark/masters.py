"""Where work is done: on a Spark master, or in this process alone."""

from __future__ import annotations

import os

NONE = "none"
"""The master that stands for this process alone."""
MASTER = "local[*]"
"""The master where none is named: all cores of this machine."""
VARIABLE = "CONTINUA_MASTER"
"""The variable of the environment that names another one."""


def default_master() -> str:
    """The master of commands and sessions that name none."""
    return os.environ.get(VARIABLE) or MASTER
