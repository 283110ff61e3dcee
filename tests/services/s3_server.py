"""A server that speaks S3 on loopback: Versity's gateway over a folder, which Go builds once from its proxy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.services.processes import cache, end, free_port, listens, wait_until

VERSION = "v1.8.0"
BUCKET = "tests"
KEY, SECRET = "tester", "open-sesame-4711"


def gateway() -> Path:
    """The program, which is built where it is not there."""
    program = cache() / f"versitygw-{VERSION}" / "versitygw"
    if not program.exists():
        build = {**os.environ, "GOBIN": str(program.parent), "CGO_ENABLED": "0"}
        module = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
        subprocess.run(["go", "install", "-ldflags=-s -w", module], env=build, check=True)
    return program


class S3Server:
    """A server with one bucket."""

    def __init__(self, folder: Path, *options: str) -> None:
        """``options``: of the gateway's way to keep objects."""
        self._folder = folder
        (folder / BUCKET).mkdir(parents=True)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        who = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        where = ["--port", f"127.0.0.1:{self.port}", "--quiet", "--keep-alive", "posix", *options]
        command = [str(gateway()), *where, str(folder)]
        self._process = subprocess.Popen(command, env={**os.environ, **who}, stdout=subprocess.DEVNULL)
        wait_until(lambda: listens(self.port), "the server for S3 listens", self._process)

    def url(self, prefix: str, endpoint: str | None = None, **options: object) -> str:
        """Of a prefix in the bucket; ``endpoint``: by way of another server."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"s3://{BUCKET}/{prefix}?endpoint={endpoint or self.endpoint}{more}"

    def remove(self) -> None:
        """Ends it; nothing of it is left."""
        end(self._process)
        shutil.rmtree(self._folder)
