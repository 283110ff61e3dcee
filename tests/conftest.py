"""Tests run in two processes; those that need Spark stay in one, which has one session for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

_SPARK = ("spark", "crash")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests of some folders together."""
    for item in items:
        folder = Path(item.path).parent.name
        if folder in _SPARK:
            item.add_marker(pytest.mark.xdist_group("spark"))
