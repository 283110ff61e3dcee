"""Small auctions in a folder, and the command line as a user calls it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from continua.cli.main import main

BIDS = "CREATE STREAM Bid (item_id INT, price DOUBLE, ts BIGINT) SOURCE csv('bids.csv') ORDERED BY ts;\n"
TIMED = "CREATE STREAM Seen (item_id INT, ts TIMESTAMP) SOURCE csv('seen.csv') ORDERED BY ts;\n"
ROOMS = (
    "CREATE RELATION Room (id STRING, degrees INT, op STRING, ts BIGINT)\n"
    "  SOURCE csv('rooms.csv') ORDERED BY ts TAGGED BY op KEY id;\n"
)

FILES = {
    "bids.csv": "item_id,price,ts\n1,10.5,1\n2,20,2\n1,30,5\n",
    "seen.csv": "item_id,ts\n1,2024-05-01T10:00:00Z\n2,2024-05-01T12:00:00.25+02:00\n",
    "rooms.csv": "id,degrees,op,ts\nr1,20,+,1\nr2,30,+,2\nr1,25,u,3\nr2,30,-,4\n",
}


def write_files(folder: Path, **others: str) -> None:
    """The sources of the tests."""
    for name, text in (FILES | others).items():
        (folder / name).write_text(text, encoding="utf-8")


def write_script(folder: Path, text: str, name: str = "script.sql") -> str:
    """A script in the folder; its path."""
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def continua(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """What ``continua ARGUMENTS`` does; an exception that gets through fails the test."""
    return CliRunner().invoke(main, list(arguments), input=stdin, catch_exceptions=False)


def lines(result: Result) -> list[str]:
    """Standard output of a run that went well."""
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()
