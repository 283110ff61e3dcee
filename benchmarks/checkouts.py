"""This checkout and another commit of the same repository, both run with the packages of this Python."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COMMAND = "import sys; from continua.cli.main import main; sys.argv[0] = 'continua'; main()"
_WHERE = """
import continua

try:
    from continua.runtime.spark.starting import start_spark
except ImportError:
    from continua.runtime.spark import start_spark


def where(batches):
    import continua
    import pyarrow as pa
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [continua.__file__]})


spark = start_spark("local[1]")
rows = spark.range(1).mapInArrow(where, "file string").collect()
spark.stop()
print("\\n".join({continua.__file__, *(row.file for row in rows)}))
"""


class CheckoutError(Exception):
    """A commit that is not there, or code that is not the one that should run."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A version of Continua: how it is called in tables, and where its code is."""

    label: str
    source: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that runs this version."""
        return {**os.environ, "PYTHONPATH": str(self.source)}

    def command(self, *arguments: str) -> list[str]:
        """``continua ARGUMENTS`` of this version."""
        return [sys.executable, "-c", _COMMAND, *arguments]

    def check(self, folder: Path) -> None:
        """Makes sure that this version's code runs, in the process itself and in Spark's workers."""
        done = subprocess.run(
            [sys.executable, "-c", _WHERE],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CheckoutError(f"{self.label} does not start:\n{done.stderr[-2_000:]}")
        for file in done.stdout.split("\n")[:-1]:
            if not Path(file).resolve().is_relative_to(self.source.resolve()):
                raise CheckoutError(f"{self.label} should run from {self.source}, and it runs {file}")


def this_checkout() -> Checkout:
    """The code as it is in the folder of this benchmark."""
    return Checkout("this", ROOT / "src")


def checkout_of(commit: str, folder: Path) -> Checkout:
    """The code of a commit, put into a folder; the repository is left as it is."""
    try:
        name = _git("rev-parse", "--short", f"{commit}^{{commit}}").decode().strip()
        packed = _git("archive", "--format=tar", commit, "src")
    except subprocess.CalledProcessError as error:
        raise CheckoutError(f"there is no code of {commit}: {error.stderr.decode().strip()}") from None
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return Checkout(name, folder / "src")


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout
