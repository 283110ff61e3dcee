"""The scripts of the queries, as ``continua run`` runs them over files of a format."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.checkouts import Checkout
from benchmarks.sides import Side, command_side

FOLDER = Path(__file__).parent / "queries"
NAMES = (*(f"q{number}" for number in range(23)), "sliding")
CLASSIC = ("q1", "q2", "q3", "q4", "q5", "q7", "q8", "sliding")
"""Those of the first NEXMark that every commit can answer, and a sliding aggregate."""
_TEXTS = re.compile(r"\b(channel|url|itemName|description|extra) STRING")
_SOURCE = re.compile(r"SOURCE csv\('(\w+)\.csv'\)")
_SINK = re.compile(r"\s*INTO parquet\('\w+'\)")


def script(name: str, form: str = "csv") -> str:
    """The script of a query; its sources are files such as ``bid.csv``, its answers go to the folder of its name."""
    text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return _SOURCE.sub(rf"SOURCE {form}('\1.{form}')", text)


def needs_texts(name: str) -> bool:
    """Whether a query asks for the long texts of events."""
    return _TEXTS.search(script(name)) is not None


def printing(text: str) -> str:
    """A script whose answers are printed instead of written to a sink."""
    return _SINK.sub("", text)


def query_side(checkout: Checkout, query: str, form: str, master: str, label: str = "") -> Side:
    """``continua run`` of a query's script on a master."""
    return command_side(checkout, query, script(query, form), master, label)
