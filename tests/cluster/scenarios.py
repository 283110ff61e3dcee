"""What happens to a cluster while it works. Each scenario ends with the answers of one to which nothing happened."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from continua.objects.urls import place_of
from continua.runtime.checkpoint import inspection
from tests.cluster.cluster import PATIENCE, Cluster, Driver, Epochs
from tests.cluster.load import Load, difference, written
from tests.cluster.machines import GATE
from tests.services.unreliable import Unreliable

LEASE = 5
"""So many seconds a driver that is gone from another machine is waited for."""
_SOON = 12
"""The events begin in so many seconds: a driver starts meanwhile."""


@dataclass
class Work:
    """The load on its way over the cluster: one checkpoint, one place for answers, drivers one after the other."""

    cluster: Cluster
    name: str
    load: Load
    endpoint: str | None = None

    def __post_init__(self) -> None:
        self.epochs = Epochs(self.cluster.bucket(f"{self.name}/state"))
        self.disturbed = 0.0

    def drive(self, machine: str, **settings: str) -> Driver:
        """A driver on a machine."""
        options = self.cluster.place("", self.endpoint).partition("?")[2]
        script = self.load.script(self.cluster.place(f"{self.name}/answers").partition("?")[0], f"?{options}")
        checkpoint = self.cluster.place(f"{self.name}/state", self.endpoint) + f"&lease={LEASE}"
        return self.cluster.drive(machine, script, checkpoint, **settings)

    def disturb(self) -> None:
        """From now on pauses count."""
        self.epochs.look()
        self.disturbed = time.monotonic()

    def finish(self, driver: Driver, patience: float = PATIENCE) -> None:
        """Waits for the end of a driver, which is a good one."""
        end = time.monotonic() + patience
        while driver.runs:
            assert time.monotonic() < end, f"the driver did not end within {patience:.0f} s:\n{driver.said[-3000:]}"
            self.epochs.look()
            time.sleep(0.1)
        status = driver.ended()
        assert status == 0, f"the driver ended with {status}:\n{driver.said[-4000:]}"

    def check(self) -> None:
        """Nothing is lost and nothing is there twice; the checkpoint is whole."""
        with tempfile.TemporaryDirectory() as folder:
            expected = self.load.expected(Path(folder))
        assert all(expected.values()), "a query without answers shows nothing"
        found = difference(written(self.cluster.bucket(f"{self.name}/answers")), expected)
        assert found is None, found
        flaws = list(inspection.flaws(place_of(self.cluster.place(f"{self.name}/state"))))
        assert flaws == [], flaws


Scenario = Callable[[Work], str]
SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    """Makes a function a scenario under its own name; what it returns is told."""
    SCENARIOS[run.__name__] = run
    return run


def perform(cluster: Cluster, name: str, seconds: int) -> str:
    """Runs a scenario; what is told of it."""
    began = time.monotonic()
    begin = (datetime.now(UTC) + timedelta(seconds=_SOON)).replace(microsecond=0)
    work = Work(cluster, f"{name}-{random.randrange(1 << 30)}", Load(begin, seconds))
    told = SCENARIOS[name](work)
    work.check()
    epochs, took = len(work.epochs.times), time.monotonic() - began
    pause = f", longest pause {work.epochs.pause_after(work.disturbed):.1f} s" if work.disturbed else ""
    return f"{name}: {told}; {work.load.events:,} events, {epochs} epochs seen{pause}, {took:.0f} s in all"


@scenario
def undisturbed(work: Work) -> str:
    """Nothing happens."""
    driver = work.drive("driver1")
    work.epochs.wait_for(3, driver)
    work.disturb()
    work.finish(driver)
    return "answers as in one process"


@scenario
def worker_killed(work: Work) -> str:
    """All processes of a worker's machine are gone at once. It comes back when all is over."""
    driver = work.drive("driver1")
    work.epochs.wait_for(10, driver)
    work.disturb()
    work.cluster.machines["worker2"].crash()
    work.finish(driver)
    work.cluster.start_worker("worker2")
    return "worker2 was killed, and the others went on"


@scenario
def worker_cut_off(work: Work) -> str:
    """A worker's machine is off the network for 30 seconds."""
    driver = work.drive("driver1")
    work.epochs.wait_for(10, driver)
    work.disturb()
    work.cluster.machines["worker1"].cut()
    _meanwhile(work, driver, 30.0)
    work.cluster.machines["worker1"].connect()
    work.finish(driver)
    return "worker1 was cut off for 30 s"


@scenario
def worker_added(work: Work) -> str:
    """A fourth worker comes."""
    driver = work.drive("driver1", **{"spark.cores.max": "8"})
    work.epochs.wait_for(10, driver)
    work.disturb()
    added = work.cluster.start_worker("worker4")
    work.finish(driver)
    added.crash()
    said = (work.cluster.logs / "worker4.log").read_text()
    assert "Asked to launch executor" in said, f"it has got no work:\n{said}"
    return "worker4 came and worked"


@scenario
def speculation(work: Work) -> str:
    """Spark starts tasks a second time that take longer than others, and one worker is held up now and then."""
    settings = {"interval": "50ms", "multiplier": "1.1", "quantile": "0.3"}
    driver = work.drive(
        "driver1", **{"spark.speculation": "true"}, **{f"spark.speculation.{n}": v for n, v in settings.items()}
    )
    work.epochs.wait_for(10, driver)
    work.disturb()
    slow = work.cluster.machines["worker3"]
    while driver.runs:
        slow.send_all(signal.SIGSTOP)
        _meanwhile(work, driver, 0.7)
        slow.send_all(signal.SIGCONT)
        _meanwhile(work, driver, 1.5)
    work.finish(driver)
    return "tasks ran twice where worker3 was held up"


@scenario
def driver_killed(work: Work) -> str:
    """The driver's machine is gone; the same command goes on on another one."""
    driver = work.drive("driver1")
    work.epochs.wait_for(10, driver)
    work.disturb()
    work.cluster.machines["driver1"].crash()
    other = _taking_over(work)
    work.finish(other)
    return "the same command went on on another machine"


@scenario
def driver_comes_back(work: Work) -> str:
    """A second driver is told that the first works. That one stands still, is overtaken, and told when it goes on."""
    first = work.drive("driver1")
    work.epochs.wait_for(10, first)
    second = work.drive("driver2")
    assert second.ended() == 1, second.said[-3000:]
    assert "CHECKPOINT_IN_USE" in second.said, second.said[-3000:]
    work.disturb()
    old = work.cluster.machines["driver1"]
    old.send_all(signal.SIGSTOP)
    second = _taking_over(work)
    work.epochs.wait_for(work.epochs.look() + 3, second)
    old.send_all(signal.SIGCONT)
    assert first.ended() != 0 and "CHECKPOINT_TAKEN_OVER" in first.said, first.said[-3000:]
    work.finish(second)
    return "the second was refused while the first worked, took over when it stood still, and the first was told"


@scenario
def failing_store(work: Work) -> str:
    """One request in fifty fails: refused, cut off, or done without an answer."""
    store = work.cluster.machines["store"]
    failing = Unreliable(9000, 50, random.randrange(1 << 30), listen=GATE, server=store.address)
    work.endpoint = failing.endpoint
    try:
        driver = work.drive("driver1")
        work.epochs.wait_for(3, driver)
        work.disturb()
        work.finish(driver)
    finally:
        failing.close()
    failed = ", ".join(f"{count} {kind}" for kind, count in sorted(failing.failed.items()))
    assert failing.failed.total(), "no request has failed"
    return f"of {failing.passed + failing.failed.total():,} requests {failed}"


def _taking_over(work: Work) -> Driver:
    """The driver that takes over on another machine, begun again, as a supervisor does, until the lease has run out."""
    last, end = work.epochs.look(), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        driver = work.drive("driver2")
        while driver.runs and work.epochs.look() <= last:
            time.sleep(0.1)
        if driver.runs or driver.ended() == 0:
            return driver
        assert "CHECKPOINT_IN_USE" in driver.said, driver.said[-3000:]
    raise AssertionError("the lease of a driver that is gone does not run out")


def _meanwhile(work: Work, driver: Driver, seconds: float) -> None:
    """Looks at epochs for some time, or until a driver has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and driver.runs:
        with suppress(OSError):
            work.epochs.look()
        time.sleep(0.1)
