"""Many subscribers, some of them slow: each has every change once, and nobody waits for another."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import websockets

from tests.web.service.conftest import Serve, Served

SUBSCRIBERS, SLOW, ROUNDS, ROWS = 200, 20, 20, 100
_WIDE = "x" * 5000


class Subscriber:
    """Follows changes by one of the protocols; it leaves in the middle, and comes again with what it had last."""

    def __init__(self, server: Served, number: int) -> None:
        self.server, self.number = server, number
        self.is_slow = number < SLOW
        self.seen: list[int] = []
        self.position: str | None = None
        self.left = False

    async def follow(self, wanted: int, released: asyncio.Event) -> None:
        """Until it has so many changes."""
        while len(self.seen) < wanted:
            if self.number % 2:
                await self._by_socket(wanted, released)
            else:
                await self._by_events(wanted, released)

    def _took(self, kind: str, number: str | None, content: dict[str, object]) -> bool:
        """Takes an event; whether it now leaves, in the middle of everything."""
        assert kind in ("changes", "until"), content
        self.position = number
        changes = content["changes"]
        assert isinstance(changes, list)
        self.seen += [change["row"]["n"] for change in changes]
        leaves = not self.left and self.number % 3 == 0 and bool(self.seen)
        self.left |= leaves
        return leaves

    def _path(self) -> str:
        return "/api/queries/wide/changes" + (f"?after={self.position}" if self.position else "")

    async def _by_events(self, wanted: int, released: asyncio.Event) -> None:
        parts = urlsplit(self.server.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=64 << 20)
        ask = f"GET {self._path()} HTTP/1.0\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n\r\n"
        writer.write(ask.encode())
        if self.is_slow:
            await released.wait()
        told: dict[str, str] = {}
        try:
            while len(self.seen) < wanted and (got := await reader.readline()):
                line = got.decode().rstrip("\r\n")
                name, _, value = line.partition(": ")
                if name in ("event", "id", "data"):
                    told[name] = value
                elif not line and "data" in told:
                    leaves = self._took(told["event"], told.get("id"), json.loads(told["data"]))
                    told = {}
                    if leaves:
                        return
        finally:
            writer.close()

    async def _by_socket(self, wanted: int, released: asyncio.Event) -> None:
        url = self.server.url.replace("http", "ws") + self._path()
        # one that hears nothing for too long is let go of, and comes again
        with contextlib.suppress(websockets.ConnectionClosed):
            async with websockets.connect(url, max_size=None, max_queue=2) as socket:
                if self.is_slow:
                    await released.wait()
                while len(self.seen) < wanted:
                    told = json.loads(await socket.recv())
                    if self._took(told["event"], told["id"], told["data"]):
                        return


async def subscribed(server: Served) -> list[Subscriber]:
    """All subscribers when they have everything; slow ones read nothing until the others have it."""
    wanted = ROUNDS * ROWS
    subscribers = [Subscriber(server, number) for number in range(SUBSCRIBERS)]
    released = asyncio.Event()
    following = {s.number: asyncio.create_task(s.follow(wanted, released)) for s in subscribers}
    for turn in range(ROUNDS):
        rows = [[turn * ROWS + i, _WIDE, turn * ROWS + i] for i in range(ROWS)]
        status, told = await asyncio.to_thread(server.ask, "POST", "/api/streams/Wide/rows", rows)
        assert status == 200, told
    end = [[wanted, "", wanted], [wanted, "", wanted + 1]]
    await asyncio.to_thread(server.ask, "POST", "/api/streams/Wide/rows", end)
    async with asyncio.timeout(120):
        await asyncio.gather(*(task for number, task in following.items() if number >= SLOW))
    assert all(len(s.seen) < wanted for s in subscribers if s.is_slow)
    released.set()
    async with asyncio.timeout(120):
        await asyncio.gather(*following.values())
    return subscribers


def test_two_hundred_subscribers_have_every_change_once_whoever_is_slow(serve: Serve) -> None:
    server = serve()
    server.run(
        "CREATE STREAM Wide (n BIGINT, text STRING, ts BIGINT) ORDERED BY ts;"
        "REGISTER QUERY wide AS SELECT ISTREAM n, text FROM Wide [NOW]"
    )
    before = most_held(server)
    subscribers = asyncio.run(subscribed(server))
    for subscriber in subscribers:
        assert subscriber.seen[: ROUNDS * ROWS] == list(range(ROUNDS * ROWS)), subscriber.number
    # what is told is there once, and not for each of those who are to read it
    assert most_held(server) - before < SUBSCRIBERS * ROUNDS * ROWS * len(_WIDE) / 4


def most_held(server: Served) -> int:
    """The most bytes of memory that the server has had."""
    told = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return 1024 * int(next(line.split()[1] for line in told.splitlines() if line.startswith("VmHWM")))
