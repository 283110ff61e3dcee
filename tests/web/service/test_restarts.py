"""What goes on when a server was killed, and in another folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.web.service.conftest import BIDS, Serve


def test_queries_tokens_rows_and_subscriptions_go_on_after_a_kill(serve: Serve, token: Callable[..., str]) -> None:
    secret = token("ada", "admin")
    server = serve("--require-token", token=secret)
    server.run(BIDS)
    key = {"Idempotency_Key": "first"}
    rows = [{"item": 1, "price": 10, "ts": 5}, {"item": 2, "price": 20, "ts": 6}]
    assert server.ask("POST", "/api/streams/Bid/rows", rows, **key) == (200, {"rows": 2, "again": False})
    server.until("new", 5)
    told = server.ask("GET", "/api/queries/new/changes")[1]
    assert server.ask("POST", "/api/streams/Bid/rows", [[3, 30, 9], [4, 40, 11]]) == (200, {"rows": 2, "again": False})
    server.kill()
    server = serve("--require-token", token=secret)
    assert server.ask("POST", "/api/streams/Bid/rows", rows, **key) == (200, {"rows": 2, "again": True})
    server.run("INSERT INTO Bid VALUES (5, 50, 20)")
    server.until("new", 19)
    seen, position = [*told["changes"]], told["position"]
    while True:
        more = server.ask("GET", f"/api/queries/new/changes?after={position}")[1]
        if more["position"] == position:
            break
        seen, position = [*seen, *more["changes"]], more["position"]
    assert [(c["t"], c["row"]["item"]) for c in seen] == [(5, 1), (6, 2), (9, 3), (11, 4)]
    assert server.stop() == 0


def test_rows_of_a_table_are_there_after_a_kill(serve: Serve) -> None:
    server = serve()
    server.run(BIDS + "CREATE TABLE Name (item INT, name STRING)")
    assert server.ask("POST", "/api/streams/Name/rows", [[1, "desk"], [2, "clock"]])[0] == 200
    server.kill()
    server = serve()
    server.run("REGISTER QUERY named AS SELECT ISTREAM name FROM Bid [NOW] JOIN Name ON Bid.item = Name.item")
    server.run("INSERT INTO Bid VALUES (2, 1, 4), (9, 9, 9)")
    server.until("named", 8)
    told = server.ask("GET", "/api/queries/named/changes")[1]["changes"]
    assert [c["row"]["name"] for c in told] == ["clock"]


def test_a_backup_goes_on_in_another_folder(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    server.run(BIDS)
    server.ask("POST", "/api/streams/Bid/rows", [[1, 10, 5], [2, 20, 6], [3, 1, 8]])
    server.until("top", 7)
    held = server.ask("GET", "/api/queries/top/snapshot?at=6")[1]
    server.stop()
    shutil.copytree(tmp_path / "state", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "state")
    server = serve(state=tmp_path / "elsewhere")
    assert server.ask("GET", "/api/queries/top/snapshot?at=6")[1] == held
    server.ask("POST", "/api/streams/Bid/rows", [[3, 70, 30], [4, 1, 33]])
    server.until("top", 31)
    assert server.ask("GET", "/api/queries/top/snapshot?at=31")[1]["rows"] == [{"item": 3, "top": 70}]
