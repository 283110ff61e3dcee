"""A PostgreSQL server on loopback, of the programs that the system has."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.services.processes import end, free_port, listens, wait_until

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "unix_socket_directories": "",
    "fsync": "off",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
}
_MOST = 1 << 16
"""Numbers of users that are not root's."""


def programs() -> Path:
    """The folder with the programs of a server."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda f: int(f.parent.name))
    assert folders, "there is no PostgreSQL server: scripts/check-postgres says how to have one"
    return folders[-1]


class PostgresDatabase:
    """A server that can be stopped and started again with all that it has."""

    def __init__(self) -> None:
        self._user = _owner()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # whoever the server runs as has to get there, which the folders of tests do not let others
        folder = self._folder = Path(tempfile.mkdtemp(prefix="continua-postgres-"))
        os.chown(folder, -1 if self._user is None else self._user, -1)
        data, log = folder / "data", folder / "log"
        with log.open("ab") as said:
            command = [
                f"{programs()}/initdb",
                "-D",
                str(data),
                "-U",
                "tester",
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
            ]
            subprocess.run(command, check=True, stdout=said, stderr=said, user=self._user, cwd=folder)
        with (data / "postgresql.conf").open("a") as settings:
            settings.writelines(f"{k} = '{v}'\n" for k, v in _SETTINGS.items())
        self.start()

    @property
    def url(self) -> str:
        """By what clients find it."""
        return f"postgresql://tester@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with (self._folder / "log").open("ab") as log:
            command = [f"{programs()}/postgres", "-D", str(self._folder / "data"), "-p", str(self._port)]
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log, user=self._user)
        wait_until(self._answers, "the database answers", self._process)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Ends it, at once as SIGQUIT does or in order; what it has stays."""
        assert self._process is not None
        end(self._process, number)

    def remove(self) -> None:
        """Ends it for ever."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            if listens(self._port):
                psycopg.connect(self.url).close()
                return True
        return False

    def execute(self, text: str) -> list[tuple[object, ...]]:
        """What statements give that are committed each by itself."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(text.encode())
            return found.fetchall() if found.description is not None else []


def _owner() -> int | None:
    """As whom the server runs: it refuses to run as root."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    return _MOST
