"""A registry of schemas on loopback: Apicurio's, from its archive, by the routes that Confluent's has."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.services.ivy import fetched
from tests.services.processes import end, free_port, wait_until

VERSION = "2.6.13.Final"
_NAME = "apicurio-registry-app"


def _program() -> Path:
    """The jar that runs it, beside those that it needs."""
    folder = fetched(f"{_NAME}-{VERSION}", "io.apicurio", _NAME, VERSION, "tar.gz")
    program = folder / "app" / f"{_NAME}-{VERSION}-runner.jar"
    if not program.exists():
        shutil.rmtree(folder / "partial", ignore_errors=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder / "partial", filter="data")
        shutil.rmtree(folder / "app", ignore_errors=True)
        (folder / "partial").rename(folder / "app")
    return program


class SchemaRegistry:
    """A registry that keeps schemas in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        where = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self._port}"]
        program = str(_program())
        with (folder / "log").open("ab") as log:
            command = ["java", *memory, *where, "-jar", program]
            self._process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        wait_until(self._answers, "the registry of schemas answers", self._process)

    def _answers(self) -> bool:
        try:
            self._asked("/subjects")
        except (URLError, HTTPException, OSError):
            return False
        return True

    def _asked(self, route: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        with urlopen(Request(self.url + route, data=data, headers=headers), timeout=30) as answer:
            return json.loads(answer.read())

    def register(self, subject: str, schema: str, kind: str = "AVRO", references: Sequence[Any] = ()) -> int:
        """The number of a schema, which is known from now on."""
        body = {"schema": schema, "schemaType": kind, "references": list(references)}
        return int(self._asked(f"/subjects/{subject}/versions", body)["id"])

    def remove(self) -> None:
        """Ends it; nothing of it is left."""
        end(self._process)
