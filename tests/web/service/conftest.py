"""Servers as processes of their own, as they are in service."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = "import sys; sys.argv[0] = 'continua'; from continua.cli.main import main; main()"
BIDS = """
CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts;
REGISTER QUERY top AS SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item;
REGISTER QUERY new AS SELECT ISTREAM * FROM Bid [NOW];
"""


def continua(*arguments: str) -> list[str]:
    """The command, run by this Python."""
    return [sys.executable, "-c", _PROGRAM, *arguments]


@dataclass
class Served:
    """A server at work."""

    process: subprocess.Popen[str]
    url: str
    postgres: int
    token: str | None = None
    log: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        request = urllib.request.Request(self.url + path, content, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = answer.read()
                return answer.status, json.loads(found) if found[:1] in (b"{", b"[") else found
        except urllib.error.HTTPError as error:
            found = error.read()
            return error.code, json.loads(found) if found[:1] == b"{" else found

    def run(self, sql: str) -> list[dict[str, Any]]:
        """What the statements of a script did."""
        status, told = self.ask("POST", "/api/statements", {"sql": sql})
        assert status == 200, told
        outcomes: list[dict[str, Any]] = told["outcomes"]
        return outcomes

    def until(self, name: str, instant: int) -> None:
        """Waits until a query has answered an instant."""
        end = time.monotonic() + 60
        while (self.ask("GET", f"/api/queries/{name}")[1]["until"] or -1) < instant:
            assert time.monotonic() < end
            time.sleep(0.02)

    def kill(self) -> None:
        """Ends it as a machine does that loses power."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Asks it to end."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers, which end with the test. Their state is in one folder unless something else is said."""
    begun: list[Served] = []

    def start(*arguments: str, state: Path | None = None, token: str | None = None) -> Served:
        where = str(state or tmp_path / "state")
        ports = ("--port", "0", "--pg-port", "0", "--master", "none", "--partitions", "1")
        process = subprocess.Popen(
            continua("serve", "--state", where, *ports, *arguments),
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stderr is not None
        seen: list[str] = []
        found: dict[str, str] = {}
        while len(found) < 2:
            line = process.stderr.readline()
            assert line, "".join(seen)
            seen.append(line)
            if told := re.search(r"serves at (https?://\S+)", line):
                found["http"] = told[1]
            elif told := re.search(r"protocol at \S+:(\d+)", line):
                found["postgres"] = told[1]
        begun.append(Served(process, found["http"], int(found["postgres"]), token, seen))
        return begun[-1]

    yield start
    for served in begun:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate()


@pytest.fixture
def token(tmp_path: Path) -> Callable[..., str]:
    """Makes tokens by the command, as operators do."""

    def make(name: str, role: str, *arguments: str) -> str:
        command = continua("token", "--state", str(tmp_path / "state"), "--role", role, *arguments, name)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return make
