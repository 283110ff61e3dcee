"""Tests run in two processes; those of a module that needs Spark stay together, and so does what they have set up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

os.environ.setdefault("CONTINUA_MASTER", "none")
"""Commands and sessions work in the process of the test, unless it asks for Spark."""
os.environ.setdefault("CONTINUA_JVM_ARCHIVE", "0")
"""No archive of the JVM's classes is made behind the tests."""
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("other", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("CONTINUA_CASES", "same"))
"""Random cases are the same in every run, unless the variable is ``other``: searches have commands of their own.

None of them has a deadline: how long it takes is a matter of what else the machine does."""
_TOGETHER = ("spark", "crash")
"""The folders whose modules set up much."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Has long tests come first, since others fill what is left."""
    items.sort(key=lambda item: Path(item.path).parent.name not in _TOGETHER)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Deals tests out one by one, but a module of some folders as a whole, in the order in which they were found."""
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):  # type: ignore[misc]
        """The mark for groups that comes with this way to deal tests out does nothing with the pytest of today."""

        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return module if Path(module).parent.name in _TOGETHER else nodeid

    config.option.loadscopereorder = False
    return ByModule(config, log)
