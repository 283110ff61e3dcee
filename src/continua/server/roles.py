"""Roles."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """What somebody may do: each may what the one before may."""

    NOBODY = 0
    READ = 1
    WRITE = 2
    ADMIN = 3
