"""Texts of every type: plain ones, and ones that are odd, wrong or on the edge."""

from __future__ import annotations

import random

from continua.sources.source_spec import SourceSpec
from continua.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    decimal,
)

KINDS: dict[str, DataType] = {
    "BIGINT": BIGINT,
    "INT": INT,
    "TINYINT": TINYINT,
    "DOUBLE": DOUBLE,
    "FLOAT": FLOAT,
    "DECIMAL(6,2)": decimal(6, 2),
    "STRING": STRING,
    "BINARY": BINARY,
    "BOOLEAN": BOOLEAN,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
}

CLEAN: dict[str, list[str]] = {
    "BIGINT": ["0", "-1", "9223372036854775807", "-9223372036854775808", "007", "-0"],
    "INT": ["0", "2147483647", "-2147483648", "12"],
    "TINYINT": ["0", "127", "-128", "5"],
    "DOUBLE": ["0", "1.5", "-2.25e3", "1e-400", ".5", "1.", "0.1", "123456789012345678901234567890", "-0.0", "5e-324"],
    "FLOAT": ["0", "0.1", "16777217", "1.00000005960464477540", "3.4028235e38", "1e-46"],
    "DECIMAL(6,2)": ["0", "1.5", "-12.25", "9999.99", ".5", "-0.00", "1."],
    "STRING": ["a", "Ünï", "true", "0x1A", "x y", " padded ", "null", "'"],
    "BINARY": ["a", "é"],
    "BOOLEAN": ["true", "F", "yes", "0", "TRUE"],
    "DATE": ["2024-02-29", "0001-01-01", "9999-12-31"],
    "TIMESTAMP": ["2024-02-29T10:00:00", "2024-01-01 00:00:00.5Z", "2024-01-01", "2024-01-01T10:00+00:00"],
}
ODD: dict[str, list[str]] = {
    "BIGINT": ["+1", " 12 ", "0x1A", "1.0", "9223372036854775808", "1_000", "--1", "1 2", "\u0661", "x"],
    "INT": ["2147483648", "\t1", "1e3", "- 1"],
    "TINYINT": ["128", "-129"],
    "DOUBLE": ["inf", "NaN", "1e400", "1e", ".", "0x1p3", "1_0", "1d", " 1.5", "infinity", "1,5"],
    "FLOAT": ["1e39", "nan", "3.4028236e38"],
    "DECIMAL(6,2)": ["1.005", "10000", "1e2", "9999.995", "+1", "NaN", "0.004"],
    "STRING": ["a\0b", "\udcff", "", "\u2028", "a\x1cb"],
    "BINARY": ["\udcff"],
    "BOOLEAN": ["2", "oui", "ye\u017f", " true"],
    "DATE": ["20240229", "2024-02-30", "2024-W01-1", "0000-01-01", "2024-2-1", "10000-01-01"],
    "TIMESTAMP": [
        "2024-02-30T00:00:00", "2024-01-01T24:00:00", "2024-01-01T10:00:00.1234567", "2024-01-01T10:00:00+02:00",
        "2024-01-01T10:00:00z", "2024-01-01T10", "0000-01-01T00:00:00", "2024-01-01Z", "20240101T100000",
        "2024-01-01T10:00:60", "2024-01-01T10:00:00,5", "2024-01-01T10:00:00.", "2024-01-01T10:00:00ZZ", "0001-01-01",
    ],
}  # fmt: skip


def random_csv(rng: random.Random) -> tuple[SourceSpec, bytes]:
    """A file that is mostly CSV, with quotes, line ends and odd values, and what is declared of it."""
    kinds = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 4))]
    quotes, odd = rng.choice([0.0, 0.1, 0.4]), rng.choice([0.0, 0.05, 0.3])
    ends = rng.choice(["\n", "\r\n", ""])

    def cell(kind: str) -> str:
        text = rng.choice(ODD[kind] if rng.random() < odd else CLEAN[kind])
        if rng.random() >= quotes:
            return text
        text += rng.choice(["", "", "\n", '"', ",", "\r\n", "x\ny\nz", "\r"])
        text = '"' + text.replace('"', '""') + '"'
        spoiled = rng.random()
        return text + rng.choice("x ") if spoiled < odd / 6 else text[:-1] if spoiled < odd / 3 else text

    lines = [",".join(f"c{i}" for i in range(len(kinds))) + "\n"] if rng.random() < 0.3 else []
    for _ in range(rng.randint(0, 12)):
        width = max(1, len(kinds) + (rng.choice((-1, 1)) if rng.random() < odd / 3 else 0))
        record = ",".join(cell(kinds[i % len(kinds)]) for i in range(width))
        lines.append(record + (ends or rng.choice(["\n", "\r\n", "\r", "\n\n", " \n"])))
    data = "".join(lines).encode("utf-8", "surrogateescape")
    if rng.random() < 0.2:
        data = data.rstrip(b"\r\n")
    if rng.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    if data and rng.random() < odd / 2:
        place = rng.randrange(len(data))
        data = data[:place] + bytes([rng.choice([0, 34, 255, 13, 44, 10])]) + data[place + 1 :]
    columns = tuple((f"c{i}", KINDS[kind]) for i, kind in enumerate(kinds))
    return SourceSpec("csv", "s.csv", columns, (), True, "s"), data
