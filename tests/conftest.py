"""Tests run in two processes; those that need Spark stay in one, which has one session for all of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("CONTINUA_MASTER", "none")
"""Commands and sessions work in the process of the test, unless it asks for Spark."""
os.environ.setdefault("CONTINUA_JVM_ARCHIVE", "0")
"""No archive of the JVM's classes is made behind the tests."""
_SPARK = ("spark", "crash")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests of some folders together."""
    for item in items:
        folder = Path(item.path).parent.name
        if folder in _SPARK:
            item.add_marker(pytest.mark.xdist_group("spark"))
