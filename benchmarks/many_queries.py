"""A script of many queries over two streams, as somebody has with many alerts: the CPU time until all are answered.

python -m benchmarks.many_queries [--count N] [--rows N] [--profile FILE]
"""

from __future__ import annotations

import argparse
import cProfile
import io
import random
import resource
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

from continua.cli.main import main as continua

SOURCES = """\
CREATE STREAM bid (auction INT, bidder INT, price INT, region STRING, ts BIGINT)
  SOURCE csv('bid.csv', header => true) ORDERED BY ts;
CREATE STREAM login (user INT, host STRING, failures INT, ts BIGINT)
  SOURCE csv('login.csv', header => true) ORDERED BY ts;
"""
_REGIONS = ("north", "south", "east", "west")
_AGGREGATES = ("COUNT(*)", "SUM(price)", "MAX(price)", "MIN(price)", "AVG(price)")


def _threshold(draw: random.Random, number: int) -> str:
    return f"SELECT ISTREAM auction, price FROM bid [NOW] WHERE price > {number} AND region = '{draw.choice(_REGIONS)}'"


def _range(draw: random.Random, number: int) -> str:
    low = draw.randrange(1_000)
    return (
        f"SELECT ISTREAM bidder, price * 2 AS twice FROM bid [NOW]"
        f" WHERE price BETWEEN {low} AND {low + 10} OR bidder = {number}"
    )


def _grouped(draw: random.Random, number: int) -> str:
    by = draw.choice(("auction", "bidder", "region"))
    window = draw.choice(("RANGE 100", "RANGE 1000", "RANGE 600 SLIDE 60", "ROWS 50"))
    return (
        f"SELECT {by}, {draw.choice(_AGGREGATES)} AS v FROM bid [{window}] WHERE price > {number % 97}"
        f" GROUP BY {by} HAVING COUNT(*) > {number}"
    )


def _over_view(_: random.Random, number: int) -> str:
    total = "SELECT auction, SUM(price) AS total FROM bid [RANGE 500] GROUP BY auction"
    return f"SELECT auction, total FROM ({total}) v WHERE total > {number * 10}"


def _joined(draw: random.Random, number: int) -> str:
    window = draw.choice((50, 100))
    return (
        f"SELECT b.auction, l.host FROM bid [RANGE {window}] b JOIN login [RANGE {window}] l ON b.bidder = l.user"
        f" WHERE b.price > {900 + number % 100} AND l.failures > {draw.randrange(3)}"
    )


def _alone(draw: random.Random, number: int) -> str:
    return f"SELECT {draw.choice(_AGGREGATES)} AS v FROM bid [RANGE {100 + number % 50}] WHERE auction = {number}"


_SHAPES: tuple[tuple[int, Callable[[random.Random, int], str]], ...] = (
    (40, _threshold), (15, _range), (15, _grouped), (15, _over_view), (5, _joined), (10, _alone)
)  # fmt: skip
"""How many of a hundred queries have which shape."""


def script(count: int, seed: int = 1) -> str:
    """So many different queries."""
    draw = random.Random(seed)
    shapes = draw.choices([shape for _, shape in _SHAPES], [weight for weight, _ in _SHAPES], k=count)
    queries = (f"REGISTER QUERY a{n} AS {shape(draw, n)};" for n, shape in enumerate(shapes))
    return SOURCES + "\n".join(queries) + "\n"


def write(folder: Path, count: int, rows: int, seed: int = 1) -> Path:
    """The script and the rows of its streams, as files."""
    draw = random.Random(seed)
    bids = (f"{draw.randrange(20)},{draw.randrange(50)},{draw.randrange(1_000)},{draw.choice(_REGIONS)},{t}"
            for t in range(rows))  # fmt: skip
    logins = (f"{draw.randrange(50)},h{draw.randrange(9)},{draw.randrange(4)},{t}" for t in range(rows))
    (folder / "bid.csv").write_text("\n".join(["auction,bidder,price,region,ts", *bids]) + "\n")
    (folder / "login.csv").write_text("\n".join(["user,host,failures,ts", *logins]) + "\n")
    path = folder / "many.sql"
    path.write_text(script(count, seed))
    return path


def main() -> None:
    """Runs the script in this process and tells what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--profile", help="write where the time went to a file for pstats")
    given = parser.parse_args()
    profile = cProfile.Profile() if given.profile else None
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), given.count, given.rows)
        before, answers = resource.getrusage(resource.RUSAGE_SELF), io.StringIO()
        if profile is not None:
            profile.enable()
        with redirect_stdout(answers):
            continua(["run", str(path), "--master", "none"], standalone_mode=False)
        if profile is not None:
            profile.disable()
            profile.dump_stats(given.profile)
        after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    lines = answers.getvalue().count("\n")
    print(f"{given.count:,} queries, {lines:,} answers: {user:.1f} s of CPU, and {system:.1f} s in the system")


if __name__ == "__main__":
    main()
