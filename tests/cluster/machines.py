"""Machines in namespaces of Linux: each has its own network interface, name, and files.

All of them start with the files of this machine, as containers of one image do; what one writes no other sees. They are
connected by a switch. Nothing of it is left when the process that made them ends: whoever calls :func:`enter` first is
then in namespaces of its own, with which all of its children end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.services.processes import wait_until

INSIDE = "CONTINUA_CLUSTER"
"""The variable that says that this process is in namespaces of its own."""
GATE = "10.77.0.1"
"""The address of this process itself on the network of its machines."""
_SWITCH = "switch"
_OWN = """
set -e
hostname "$1"
mount -t tmpfs tmpfs "$2"
mkdir "$2/up" "$2/work" "$2/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$2/up,workdir=$2/work" "$2/root"
for part in proc sys dev; do mount --rbind "/$part" "$2/root/$part"; done
mount -t tmpfs tmpfs "$2/root/tmp"
mount -t tmpfs tmpfs "$2/root/dev/shm"
if [ -n "$3" ]; then mkdir "$2/root/srv/disk"; mount --bind "$3" "$2/root/srv/disk"; fi
printf '%s' "$4" > "$2/root/etc/hosts"
exec chroot "$2/root" sleep infinity
"""
"""What makes the files of a machine: its name, a folder for them, a disk that it has besides, the names of all."""
DISK = Path("/srv/disk")
"""Where a machine has the disk that it was given."""


def enter(arguments: Sequence[str]) -> None:
    """Starts this program anew in namespaces of its own, unless it is there already."""
    if INSIDE in os.environ:
        return
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        told = error.stderr.decode().strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
        sys.exit(
            "The machines of the cluster are namespaces of Linux (network, mounts, processes, names). They need root,\n"
            "or a system that lets users make them, and the programs unshare, nsenter and ip (util-linux, iproute2):\n"
            f"{told}"
        )
    os.execvpe("unshare", [*command, sys.executable, *arguments], {**os.environ, INSIDE: "1"})


class Machines:
    """A network of machines, by their names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, start=10)}
        self._folder = Path(tempfile.mkdtemp(prefix="continua-cluster-"))
        self._machines: dict[str, Machine] = {}
        _ip("link", "set", "lo", "up")
        _ip("link", "add", _SWITCH, "type", "bridge")
        _ip("link", "set", _SWITCH, "up")
        _ip("addr", "add", f"{GATE}/24", "dev", _SWITCH)

    def __getitem__(self, name: str) -> Machine:
        """The machine of a name, which is started if it is not there."""
        if name not in self._machines:
            self._machines[name] = Machine(name, self._addresses[name], self._folder / name, self._hosts())
        return self._machines[name]

    def with_disk(self, name: str) -> Machine:
        """The machine of a name, with a disk that keeps extended attributes, as stores of objects want them."""
        disk = self._folder / f"{name}-disk"
        disk.mkdir()
        self._machines[name] = Machine(name, self._addresses[name], self._folder / name, self._hosts(), disk)
        return self._machines[name]

    def _hosts(self) -> str:
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in self._addresses.items())]
        return "\n".join(lines) + "\n"

    def remove(self) -> None:
        """Ends all that runs on them; their files go with the namespaces."""
        for machine in self._machines.values():
            machine.remove()
        subprocess.run(["rm", "-rf", "--one-file-system", str(self._folder)], check=False)


class Machine:
    """A network interface, a name and files of its own, and what runs there."""

    def __init__(self, name: str, address: str, folder: Path, hosts: str, disk: Path | None = None) -> None:
        folder.mkdir()
        self.name, self.address = name, address
        self._processes: list[subprocess.Popen[bytes]] = []
        given = [name, str(folder), str(disk or ""), hosts]
        command = ["unshare", "--net", "--mount", "--uts", "sh", "-c", _OWN, "machine", *given]
        self._holder = subprocess.Popen(command)
        wait_until(lambda: _command(self._holder.pid).startswith(b"sleep"), f"{name} is there", self._holder)
        own = str(self._holder.pid)
        self._cable = f"to-{name}"
        _ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", own)
        _ip("link", "set", self._cable, "master", _SWITCH, "up")
        for told in (["link", "set", "lo", "up"], ["addr", "add", f"{address}/24", "dev", "eth0"]):
            subprocess.run(["nsenter", "-t", own, "-n", "ip", *told], check=True)
        subprocess.run(["nsenter", "-t", own, "-n", "ip", "link", "set", "eth0", "up"], check=True)

    def start(
        self, command: Sequence[str], log: Path, around: Mapping[str, str], text: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a program there, in a group of processes of its own; ``text`` is its standard input."""
        enter_it = [
            "nsenter",
            "-t",
            str(self._holder.pid),
            "--mount",
            "--uts",
            "--net",
            "--root",
            f"--wdns={Path.cwd()}",
        ]
        with log.open("ab") as out:
            process = subprocess.Popen(
                [*enter_it, *command],
                env={**os.environ, **around},
                stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        if text is not None:
            assert process.stdin is not None
            process.stdin.write(text.encode())
            process.stdin.close()
        self._processes.append(process)
        return process

    def cut(self) -> None:
        """Pulls the cable: what is on its way is lost, and nobody is told."""
        _ip("link", "set", self._cable, "down")

    def connect(self) -> None:
        """Puts the cable back."""
        _ip("link", "set", self._cable, "up")

    def send_all(self, number: int) -> None:
        """Sends a signal to all that runs there, what its programs have started too."""
        mine = _namespace(self._holder.pid)
        for path in Path("/proc").glob("[0-9]*"):
            process = int(path.name)
            if process != self._holder.pid and _namespace(process) == mine:
                with suppress(ProcessLookupError):
                    os.kill(process, number)

    def crash(self) -> None:
        """Ends all that runs there, at once."""
        self.send_all(signal.SIGKILL)
        for known in self._processes:
            known.wait()
        self._processes.clear()

    def remove(self) -> None:
        """Ends it."""
        self.crash()
        self._holder.kill()
        self._holder.wait()


def _namespace(process: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{process}/ns/net").readlink())
    return ""


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
