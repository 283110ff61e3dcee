"""A server of one's own, as ``continua serve`` runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = "from continua.cli.main import main; main()"
_AT = re.compile(r"http://[\d.:]+")


@dataclass(frozen=True)
class Served:
    """A server, and the folder that its sources are in."""

    url: str
    folder: Path

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What a route answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None
        return json.loads(text) if text else None

    def run(self, sql: str) -> Any:
        """Statements take effect."""
        return self.ask("POST", "/api/statements", {"sql": sql})


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """A server on a free port, which is ended behind the block."""
    command = [sys.executable, "-c", COMMAND, *(options or ("serve", "--data", ".", "--master", "none")), "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=dict(os.environ)
    ) as process:
        assert process.stderr is not None
        lines: list[str] = []
        try:
            for line in process.stderr:
                lines.append(line)
                if found := _AT.search(line):
                    break
            else:
                raise AssertionError(f"the server has not begun: {''.join(lines)}")
            rest = threading.Thread(target=lines.extend, args=(process.stderr,), daemon=True)
            rest.start()
            yield Served(found[0], folder)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    assert "Traceback" not in "".join(lines), "".join(lines)
