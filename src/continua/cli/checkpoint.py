"""``continua checkpoint``: what is in a checkpoint, whether it is whole, a copy of it, and what nobody needs in it."""

from __future__ import annotations

import click

from continua.cli.commands import debug_option
from continua.cli.places import PLACE
from continua.cli.report import Report
from continua.instants import INFINITY
from continua.objects.urls import Place
from continua.runtime.checkpoint.inspection import Inspected, below, clean, copy, flaws, found_at, with_parts
from continua.runtime.checkpoint.opening import FORMAT, GROUPS

folder_argument = click.argument("folder", type=PLACE)


@click.group()
@debug_option
def checkpoint() -> None:
    """Look at the checkpoint of a run: a folder that `run --checkpoint` or a live session has written, or a URL.

    \b
    continua checkpoint show FOLDER       how far the run was, what it reads, and how large everything is
    continua checkpoint verify FOLDER     reads every file: status 1 if one is damaged, old or another's
    continua checkpoint copy FOLDER NEW   what a run would go on with, and nothing else
    continua checkpoint clean FOLDER      removes what no run would go on with
    """


@checkpoint.command()
@folder_argument
def show(folder: Place) -> None:
    """How far the run of a checkpoint was."""
    with Report().errors():
        for number, found in enumerate(map(found_at, with_parts(folder))):
            if number:
                is_group = below(folder, found.store.place).startswith(GROUPS)
                click.echo(f"\n{found.store.url}, {'of a group' if is_group else 'of queries that were corrected'}")
            for label, value in _lines(found):
                click.echo(f"{label:<12}{value}")


def _lines(found: Inspected) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [
        ("format", FORMAT),
        ("run", found.store.address.run),
        ("term", found.term),
        ("files", f"{found.files:,} with {found.size:,} bytes"),
    ]
    last = found.last
    if last is None:
        return [*lines, ("epochs", "none is finished")]
    lines.append(("epochs", f"{last.number:,} finished"))
    lines.append(("closed", "all instants" if last.until >= INFINITY - 2 else f"instants up to {last.until}"))
    lines.append(("slots", last.partitions))
    lines += [("query", name) for name in found.queries]
    for name, position in last.positions.items():
        lines.append(("source", f"{name}: {len(position.files):,} files"))
    if last.past.chapters:
        lines.append(("history", f"{len(last.past.chapters)} chapters up to epoch {last.past.last:,}"))
    if last.past.horizon.epoch:
        lines.append(("horizon", f"instant {last.past.horizon.until}, epoch {last.past.horizon.epoch:,}"))
    return lines


@checkpoint.command()
@folder_argument
def verify(folder: Place) -> None:
    """Read every file of a checkpoint."""
    report = Report()
    with report.errors():
        wrong = [flaw for each in with_parts(folder) for flaw in flaws(each)]
        for error in wrong:
            report.error(error)
        if wrong:
            raise click.exceptions.Exit(1)
        click.echo(f"{folder} is whole")


@checkpoint.command("copy")
@folder_argument
@click.argument("new", type=PLACE)
def copy_(folder: Place, new: Place) -> None:
    """Copy what a run would go on with to a NEW folder."""
    with Report().errors():
        copied = sum(copy(each, new / below(folder, each)) for each in with_parts(folder))
        click.echo(f"{copied:,} files copied to {new}")


@checkpoint.command("clean")
@folder_argument
def clean_(folder: Place) -> None:
    """Remove what no run would go on with."""
    with Report().errors():
        removed = [name for each in with_parts(folder) for name in clean(each)]
        click.echo(f"{len(removed):,} files removed from {folder}")
