"""SET: the settings of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from continua.binding.context import Context
from continua.catalog import DIALECTS, UNLIMITED, Retention, Settings
from continua.errors import did_you_mean
from continua.instants import UNITS, Duration, instant_of, parse_timestamp, unit_named
from continua.lang.statements import SetOption


@dataclass(frozen=True, slots=True)
class Setting:
    """What SET can change: a field of :class:`~continua.catalog.Settings`."""

    read: Callable[[object], object]
    """The value that what was written stands for; None where it is no value of the setting."""
    wanted: str
    """What it can be, for those who wrote something else."""
    examples: tuple[str, ...] = ()


def bind_setting(context: Context, statement: SetOption) -> Settings:
    """The settings with one of them changed."""
    name, span = statement.name.text.lower(), statement.name.span
    setting = SETTINGS.get(name)
    if setting is None:
        hint = did_you_mean(name, SETTINGS) or f"settings: {', '.join(SETTINGS)}"
        context.fail("UNKNOWN_SETTING", f"there is no setting {statement.name}", span, hint, name=name)
    value = setting.read(statement.value)
    if value is None:
        message = f"{name} cannot be {statement.value}"
        context.fail("BAD_SETTING", message, span, f"it is {setting.wanted}", name=name)
    changed: dict[str, Any] = {name: value}
    return replace(context.settings, **changed)


def _one_of(*words: str) -> Callable[[object], str | None]:
    return lambda value: word if (word := str(value).lower()) in words else None


def _names(value: object) -> frozenset[str] | None:
    if not isinstance(value, str):
        return None
    return frozenset(part.strip().lower() for part in value.split(",") if part.strip())


def _duration(value: object) -> int | None:
    words = str(value).split()
    if len(words) == 2 and words[0].isdigit() and int(words[0]) > 0 and (unit := unit_named(words[1])):
        return Duration(int(words[0]), unit).amount * UNITS[unit]
    return None


def _retention(value: object) -> Retention | None:
    words = str(value).lower().split()
    if words == ["unlimited"]:
        return UNLIMITED
    if len(words) == 2 and words[0].isdigit() and int(words[0]) > 0 and words[1] in ("epoch", "epochs"):
        return Retention(epochs=int(words[0]))
    length = _duration(value)
    return None if length is None else Retention(microseconds=length)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _instant(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return instant_of(parse_timestamp(str(value)))
    except (ValueError, OverflowError):
        return None


SETTINGS = {
    "dialect": Setting(_one_of(*DIALECTS), f"one of {', '.join(DIALECTS)}", tuple(DIALECTS)),
    "range_bounds": Setting(_one_of("closed", "half_open"), "closed or half_open", ("closed", "half_open")),
    "chronon": Setting(_duration, "a length of time such as '1 second'", ("'1 second'",)),
    "start_time": Setting(_instant, "an integer, or a timestamp such as '2024-01-01 00:00:00'"),
    "disabled_rules": Setting(
        _names, "a text with the names of rules, such as 'join_reordering', or 'all'", ("'all'",)
    ),
    "retention": Setting(
        _retention,
        "a length of time such as '1 day', a number of epochs such as '100 epochs', or unlimited",
        ("'1 day'", "'100 epochs'", "unlimited"),
    ),
    "slots": Setting(_count, "a whole number of at least 1", ("24",)),
    "output_points": Setting(_one_of("all", "full"), "all or full", ("all", "full")),
}
"""All settings by their names."""
