"""Jars and archives of Maven's central repository, which the Ivy that comes with Spark fetches once."""

from __future__ import annotations

import fcntl
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyspark

from tests.services.processes import cache

_FILE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="continua" module="tests"/>
  <dependencies><dependency org="{0}" name="{1}" rev="{2}" conf="default->master">{3}</dependency></dependencies>
</ivy-module>
"""


def fetched(folder_name: str, organisation: str, name: str, version: str, archive: str | None = None) -> Path:
    """The folder with a module and all that it needs; ``archive``: alone the one of a kind, ``tar.gz``, with all."""
    folder = cache() / folder_name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _fetch(folder, (organisation, name, version), archive)
    return folder


def _fetch(folder: Path, module: Sequence[str], archive: str | None) -> None:
    partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    partial.mkdir()
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    command = ["java", "-jar", str(ivy), "-cache", str(cache() / "ivy")]
    command += ["-retrieve", f"{partial}/[artifact]-[revision](-[classifier]).[ext]"]
    if archive is None:
        command += ["-dependency", *module, "-confs", "default", "-types", "jar", "bundle"]
    else:
        artifact = f'<artifact name="{module[1]}" type="{archive}" ext="{archive}" m:classifier="all"/>'
        described = partial / "ivy.xml"
        described.write_text(_FILE.format(*module, artifact))
        command += ["-ivy", str(described), "-types", archive]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert any(path.name.startswith(module[1]) for path in partial.iterdir()), f"Ivy has not fetched {module[1]}"
    partial.rename(folder)
