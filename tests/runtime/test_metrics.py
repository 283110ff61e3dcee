"""The figures of a live run, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from continua.errors import MachineError
from continua.runs.live_groups import LiveGroups
from continua.runs.metrics import MetricsServer, metrics_text
from continua.session import Session


@pytest.fixture
def run() -> Iterator[LiveGroups]:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, ts TIMESTAMP) ORDERED BY ts")
    session.sql('REGISTER QUERY `a "b"` AS SELECT ISTREAM k FROM S [NOW]')
    session.start()
    assert session.live is not None
    session.insert("S", [(1, "1970-01-01 00:00:05"), (2, "1970-01-01 00:00:07"), (3, "1970-01-01 00:00:01")])
    session.live.process()
    yield session.live
    session.stop()


def figures(text: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_what_a_run_has_done_is_counted(run: LiveGroups) -> None:
    found = figures(metrics_text(run.runs.values()))
    assert found['continua_rows_total{source="s"}'] == 2
    assert found['continua_late_rows_total{source="s"}'] == 1
    assert found['continua_answers_total{query="a \\"b\\""}'] == 1
    assert found["continua_heartbeat"] == 6_999_999
    assert found['continua_lag{source="s"}'] == pytest.approx(1e-6)
    assert found["continua_epochs_total"] == run.engine.epoch_number
    assert found["continua_queries"] == 1


def test_figures_are_served_and_nothing_else(run: LiveGroups) -> None:
    server = MetricsServer(run, 0)
    try:
        address = f"http://127.0.0.1:{server.port}"
        with urlopen(f"{address}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert figures(answer.read().decode())["continua_queries"] == 1
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{address}/")
        with pytest.raises(MachineError) as caught:
            MetricsServer(run, server.port)
        assert caught.value.condition == "PORT_IN_USE"
    finally:
        server.close()
