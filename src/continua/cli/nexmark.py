"""``continua nexmark``: the events of NEXMark as files."""

from __future__ import annotations

from pathlib import Path

import click

from continua.cli.commands import debug_option

_FORMATS = ("csv", "jsonl", "parquet")
"""Those of the module that writes them, which takes long to import."""
_RATE, _SEED, _START = 10_000, 1, "2024-01-01 00:00:00"


@click.command(short_help="Write the events of NEXMark as files.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--events", type=click.IntRange(0), default=1_000_000, show_default=True, help="How many, of all kinds.")
@click.option(
    "--rate", type=click.IntRange(1, 1_000_000), default=_RATE, show_default=True, help="Events a second of their time."
)
@click.option(
    "--seed", type=click.IntRange(-(1 << 63), (1 << 63) - 1), default=_SEED, show_default="1", help="Of all chance."
)
@click.option("--start", default=_START, show_default=True, help="When event 0 happens, in UTC.")
@click.option("--extra", is_flag=True, help="With the column that makes rows longer.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="Of files.")
@debug_option
def nexmark(folder: Path, events: int, rate: int, seed: int, start: str, extra: bool, form: str) -> None:
    """Write persons, auctions and bids to person.csv, auction.csv and bid.csv in FOLDER.

    They are those of SOURCE nexmark(...) with the same seed, rate and start. Files that are there are replaced.
    """
    from continua.cli.event_files import write_events
    from continua.instants import instant_of, parse_timestamp
    from continua.sources.nexmark.events import KINDS, Events

    try:
        begin = instant_of(parse_timestamp(start))
    except ValueError:
        raise click.BadParameter(f"{start!r} is no timestamp", param_hint="--start") from None
    kinds = (Events(kind, rate, seed, begin, extra) for kind in KINDS)
    for path, rows in write_events(folder, form, 0, events, {kind: tuple(kind.columns) for kind in kinds}).items():
        click.echo(f"{path}: {rows:,} rows")
