"""SET: the settings of a session."""

from __future__ import annotations

from dataclasses import replace

from continua.binding.context import Context
from continua.catalog import DIALECTS, UNLIMITED, Retention, Settings
from continua.errors import did_you_mean
from continua.instants import UNITS, Duration, instant_of, parse_timestamp, unit_named
from continua.lang.statements import SetOption


def bind_setting(context: Context, statement: SetOption) -> Settings:
    """The settings with one of them changed."""
    settings, name, value = context.settings, statement.name.text.lower(), statement.value
    match name:
        case "dialect" if str(value).lower() in DIALECTS:
            return replace(settings, dialect=str(value).lower())
        case "range_bounds" if str(value).lower() in ("closed", "half_open"):
            return replace(settings, range_bounds=str(value).lower())
        case "chronon" if (chronon := _duration(value)) is not None:
            return replace(settings, chronon=chronon)
        case "start_time" if (start := _instant(value)) is not None:
            return replace(settings, start_time=start)
        case "disabled_rules" if isinstance(value, str):
            names = frozenset(part.strip().lower() for part in value.split(",") if part.strip())
            return replace(settings, disabled_rules=names)
        case "retention" if (kept := _retention(value)) is not None:
            return replace(settings, retention=kept)
        case "dialect" | "range_bounds" | "chronon" | "start_time" | "disabled_rules" | "retention":
            wanted = {
                "dialect": f"one of {', '.join(DIALECTS)}",
                "range_bounds": "closed or half_open",
                "chronon": "a length of time such as '1 second'",
                "start_time": "an integer, or a timestamp such as '2024-01-01 00:00:00'",
                "disabled_rules": "a text with the names of rules, such as 'join_reordering', or 'all'",
                "retention": "a length of time such as '1 day', a number of epochs such as '100 epochs', or unlimited",
            }[name]
            context.fail("BAD_SETTING", f"{name} cannot be {value}", statement.name.span, f"it is {wanted}", name=name)
        case _:
            known = ("dialect", "range_bounds", "chronon", "start_time", "disabled_rules", "retention")
            context.fail(
                "UNKNOWN_SETTING",
                f"there is no setting {statement.name}",
                statement.name.span,
                did_you_mean(name, known) or f"settings: {', '.join(known)}",
                name=name,
            )


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


def _instant(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return instant_of(parse_timestamp(str(value)))
    except (ValueError, OverflowError):
        return None
