"""``continua demo``: NEXMark's auction site, live, and five queries over it."""

from __future__ import annotations

import shutil
import sys
import threading
import webbrowser
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from continua.cli.commands import debug_option
from continua.cli.durations import seconds
from continua.cli.engine_options import EngineOptions, master_option, starting_spark
from continua.policy import ANYTHING

if TYPE_CHECKING:
    from continua.runtime.spark.starting import StartingSpark

SCRIPT = "nexmark.sql"
RATE = 10_000
"""Events a second, as the script has it."""
PORT = 8088
"""Where the console is, unless something else is said."""
LOOPBACK = "127.0.0.1"
SCREENFUL = 3
"""So many seconds of events are enough for a screen."""


@click.command(short_help="Watch five queries over an auction site.")
@click.option("--rate", type=click.IntRange(1, 1_000_000), default=RATE, show_default=True, help="Events a second.")
@click.option("--once", is_flag=True, help="Print one screen and end.")
@click.option("--for", "duration", callback=seconds, metavar="D", help="End after that time.")
@master_option
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Do nothing but write the scripts of examples, and their data, to a folder.",
)
@click.option("--web", is_flag=True, help="Show them in a browser: serve the console on this machine.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Of the console; 0 for a free one."
)
@debug_option
def demo(rate: int, once: bool, duration: float | None, master: str, files: Path | None, web: bool, port: int) -> None:
    """Run five continuous queries over the events of an auction site, and show what they hold, until Ctrl-C."""
    if files is not None:
        write_examples(files)
        return
    if web and (once or duration is not None):
        raise click.UsageError("--web goes on until Ctrl-C: it takes neither --once nor --for")
    options = EngineOptions(master=master)
    if web:
        with starting_spark(options) as spark:
            _serve(rate, master, port, spark)
        return
    with starting_spark(options) as spark:
        _show(options, rate, once, duration, spark)


def write_examples(folder: Path) -> None:
    """Writes the examples that the package has, where nothing is overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    with as_file(files("continua") / "demo") as source:
        names = sorted(path.name for path in source.iterdir() if path.suffix in (".sql", ".csv"))
        there = [name for name in names if (folder / name).exists()]
        if there:
            raise click.UsageError(f"{folder / there[0]} is there already")
        for name in names:
            shutil.copy(source / name, folder / name)
    click.echo(f"{folder} has {', '.join(names)}")


def _script(rate: int) -> str:
    """The statements of the demo, with so many events a second."""
    text = (files("continua") / "demo" / SCRIPT).read_text(encoding="utf-8")
    return text.replace(f"rate => {RATE}", f"rate => {rate}")


def _serve(rate: int, master: str, port: int, spark: StartingSpark | None) -> None:
    from continua.server.access import Access
    from continua.server.listening import Address, listen
    from continua.server.service import Service, ServiceOptions
    from continua.server.serving import Server

    if spark is not None:
        spark.session()
    service = Service(ServiceOptions(master=master))
    service.begin()
    try:
        service.execute(_script(rate))
        listen(Server(service, Access(service.tokens)), Address(LOOPBACK, port), _opened)
    finally:
        service.close()


def _opened(url: str) -> None:
    """Shows a page in a browser, where somebody sits in front of one; a browser in the terminal would not return."""
    if sys.stdout.isatty():
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _show(options: EngineOptions, rate: int, once: bool, duration: float | None, spark: StartingSpark | None) -> None:
    # What follows takes a second to import: Spark starts meanwhile.
    from continua.cli.follow import watch
    from continua.cli.follow_options import FollowOptions
    from continua.cli.run_script import prepared
    from continua.cli.script import Script

    script = Script(_script(rate), SCRIPT, Path())
    ready = prepared(script, "cql", None, options, ANYTHING, quiet=True)
    title = f"NEXMark, {rate:,} events a second"
    enough = SCREENFUL * rate if once or not sys.stdout.isatty() else None
    watch(ready, options, FollowOptions(follow=True, duration=duration), spark, title, enough)
