"""Tests run in two processes; those of a module that needs Spark stay together, and so does what they have set up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("CONTINUA_MASTER", "none")
"""Commands and sessions work in the process of the test, unless it asks for Spark."""
os.environ.setdefault("CONTINUA_JVM_ARCHIVE", "0")
"""No archive of the JVM's classes is made behind the tests."""
_SPARK = ("spark", "crash")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests of a module of some folders together; these come first, since others fill what is left."""
    for item in items:
        if _is_long(item):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
    items.sort(key=lambda item: not _is_long(item))


def _is_long(item: pytest.Item) -> bool:
    return Path(item.path).parent.name in _SPARK
