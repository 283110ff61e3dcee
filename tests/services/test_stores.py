"""Checkpoints in an object store: as good as in a folder, of one driver at a time, and through failing requests."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest

from continua.errors import CheckpointError, MachineError
from continua.objects.client import bucket_at
from continua.objects.urls import BucketUrl, place_of
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint import inspection
from continua.runtime.checkpoint.manifests import Manifests
from continua.runtime.checkpoint.opening import reader_store
from tests.cli.helpers import BIDS, continua, lines, write_script
from tests.cli.helpers import write_files as write_bids
from tests.crash.child import DONE, READY
from tests.crash.killing import PATIENCE, Process, live
from tests.crash.world import undisturbed, world
from tests.services.s3_server import KEY, SECRET, S3Server
from tests.services.unreliable import FAILURES, Unreliable

SEED = int(os.environ.get("CONTINUA_CRASH_SEED", "2024"))
QUERY = BIDS + "REGISTER QUERY q AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id;"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server, and who may use it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        server = S3Server(tmp_path_factory.mktemp("s3") / "objects")
        yield server
        server.remove()


def at(url: str, rows: int = 3) -> BoundedOptions:
    """Epochs of a few rows, snapshots every few epochs, in the store."""
    return BoundedOptions(rows, place_of(url), 2, 6000)


def bucket(url: str) -> BucketUrl:
    """The place of a URL."""
    found = place_of(url)
    assert isinstance(found, BucketUrl)
    return found


# The server, before anything is built on it.


def test_of_many_that_create_an_object_one_does(s3: S3Server) -> None:
    made: list[tuple[int, int]] = []
    together = Barrier(4)

    def create(who: int) -> None:
        mine = bucket_at(bucket(s3.url("race", retry=20 + who)))
        together.wait()
        made.extend((number, who) for number in range(100) if mine.create(f"n{number}", f"{who}".encode() * 1000))

    threads = [Thread(target=create, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in made) == list(range(100))
    whole = bucket_at(bucket(s3.url("race")))
    assert all(whole.get(f"n{number}") == f"{who}".encode() * 1000 for number, who in made)


def test_contents_are_what_was_put(s3: S3Server) -> None:
    mine = bucket_at(bucket(s3.url("contents")))
    large = random.Random(SEED).randbytes(12 << 20)
    for key, content in {"a/1": b"", "a/2": b"two", "a/b/3": large, "ab": b"x"}.items():
        mine.put(key, content)
    assert (mine.get("a/1"), mine.get("a/b/3"), mine.get("none")) == (b"", large, None)
    assert (mine.part("a/2", 1, 9), mine.part("a/2", 5, 9), mine.part("none", 0, 1)) == (b"wo", b"", None)
    assert [(f.key, f.size) for f in mine.found("a")] == [("a/1", 0), ("a/2", 3), ("a/b/3", len(large))]
    mine.put("a/2", b"other")
    mine.delete(["a/1", "none", "a/b/3"])
    assert [(f.key, f.size) for f in mine.found("")] == [("a/2", 5), ("ab", 1)]


@pytest.mark.usefixtures("s3")
def test_a_store_that_creates_twice_is_refused(tmp_path: Path) -> None:
    """Without extended attributes the gateway knows no versions, and takes every condition to hold."""
    careless = S3Server(tmp_path / "objects", "--nometa")
    with pytest.raises(MachineError) as caught:
        world().answers(at(careless.url("ck")))
    assert caught.value.condition == "STORE_NOT_CONDITIONAL"
    assert reader_store(place_of(careless.url("ck"))) is None
    careless.remove()


# Runs.


def test_the_command_works_on_a_url(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_bids(tmp_path)
    script = write_script(tmp_path, QUERY)
    url, there = s3.url("command"), "s3://tests/command"
    expected = lines(continua("run", script, "--master", "none"))
    for _ in range(2):
        found = lines(continua("run", script, "--master", "none", "--batch-rows", "1", "--checkpoint", url))
        assert found == expected
    told = dict(line.split(maxsplit=1) for line in lines(continua("checkpoint", "show", url)))
    assert (told["format"], told["term"], told["query"]) == ("5", "2", "q")
    assert lines(continua("checkpoint", "verify", url)) == [f"{there} is whole"]
    bucket_at(bucket(url)).put("results/99-1-1-0", b"left by a driver that is no more")
    assert lines(continua("checkpoint", "clean", url)) == [f"1 files removed from {there}"]
    for copy in (s3.url("copy"), str(tmp_path / "copy")):
        lines(continua("checkpoint", "copy", url, copy))
        found = lines(continua("run", script, "--master", "none", "--batch-rows", "1", "--checkpoint", copy))
        assert found == expected
    refused = continua("checkpoint", "copy", url, s3.url("copy"))
    assert refused.exit_code == 1 and "NOT_EMPTY" in refused.stderr


@pytest.mark.parametrize(
    ("prefix", "options", "condition"),
    [
        ("s3://nobody/ck", {}, "NO_BUCKET"),
        ("s3://tests/ck", {"endpoint": "http://127.0.0.1:9", "retry": 0.5}, "STORE_UNREACHABLE"),
        ("s3://tests/ck", {"endpont": "x"}, "BAD_STORE_URL"),
    ],
)
def test_what_is_wrong_with_a_store_is_told(
    s3: S3Server, tmp_path: Path, prefix: str, options: dict[str, object], condition: str
) -> None:
    write_bids(tmp_path)
    told = "&".join(f"{name}={value}" for name, value in {"endpoint": s3.endpoint, **options}.items())
    result = continua("run", write_script(tmp_path, QUERY), "--master", "none", "--checkpoint", f"{prefix}?{told}")
    assert result.exit_code == 3
    assert f"error[{condition}]" in result.stderr


def test_credentials_that_are_not_the_stores_are_told(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(MachineError) as caught:
        bucket_at(bucket(s3.url("ck", retry=7))).found("x")
    assert caught.value.condition == "STORE_REFUSED"


@pytest.mark.parametrize("arguments", [[], ["--spark"]], ids=["in this process", "on Spark"])
def test_a_process_that_is_killed_is_gone_on_from(s3: S3Server, arguments: list[str]) -> None:
    rng = random.Random(f"{SEED} {arguments}")
    url = s3.url(f"killed-{len(arguments)}")
    given = ["--snapshot-bytes", "6000", "--pause", "0.25", *arguments]
    assert not live(place_of(url), 1.2, rng, given).finished, "the process was too quick to be killed"
    assert live(place_of(url), None, rng, given).finished
    with world().run(at(url)) as run:
        found = run.answers()
    assert Counter(found) == Counter(undisturbed(BoundedOptions(3)))
    assert list(inspection.flaws(place_of(url))) == []


# Two drivers.


@pytest.fixture
def paused(s3: S3Server, request: pytest.FixtureRequest) -> Iterator[tuple[str, Process]]:
    """A driver that stops itself where it is about to finish its fourth epoch, and the prefix that it works on."""
    prefix = f"paused-{abs(hash(request.node.name))}"
    command = [sys.executable, "-m", "tests.crash.child", s3.url(prefix, lease=1)]
    process = Process([*command, "--snapshot-bytes", "6000", "--pause", "0", "--stop-at", "4"])
    process.expect(READY, PATIENCE)
    assert process.stops(PATIENCE)
    yield prefix, process
    process.kill()


def told_of_takeover(process: Process) -> bool:
    """Whether a driver that goes on now finds that it is one no more, and ends."""
    process.go_on()
    assert process.said(PATIENCE) == ""
    assert process.ended(PATIENCE)
    return "CHECKPOINT_TAKEN_OVER" in process.complaint


def test_the_second_driver_is_told_while_the_first_works(s3: S3Server, paused: tuple[str, Process]) -> None:
    prefix, process = paused
    with pytest.raises(CheckpointError) as caught:
        world().answers(at(s3.url(prefix, lease=600)))
    assert caught.value.condition == "CHECKPOINT_IN_USE"
    process.go_on()
    process.expect(DONE, PATIENCE)
    assert world().answers(at(s3.url(prefix))) == undisturbed(BoundedOptions(3))


def wait_for_lease(s3: S3Server, prefix: str) -> str:
    """The URL by which a driver takes over at once, from one that renews its lease no more."""
    url = s3.url(prefix, lease=0.01)
    mine = bucket_at(bucket(url))
    held = mine.head("lease")
    assert held is not None
    for number in range(100_000):
        mine.put("clock", b"%d" % number)
        now = mine.head("clock")
        assert now is not None
        if now.modified > held.modified:
            break
    mine.delete(["clock"])
    return url


def test_what_a_paused_driver_commits_late_is_refused_and_leaves_no_trace(
    s3: S3Server, paused: tuple[str, Process]
) -> None:
    prefix, process = paused
    url = wait_for_lease(s3, prefix)
    assert world().answers(at(url)) == undisturbed(BoundedOptions(3))
    store = reader_store(place_of(url))
    assert store is not None
    before = {name: store.get(name) for name in (*store.names("epochs"), *store.names("results"))}
    last = Manifests(store).last()[0]
    assert told_of_takeover(process)
    assert Manifests(store).last()[0] == last
    assert {name: store.get(name) for name in before} == before
    assert world().answers(at(url)) == undisturbed(BoundedOptions(3))
    assert list(inspection.flaws(place_of(url))) == []
    assert all(int(name.split("-")[1]) > 1 for name in store.names("results") if int(name.split("/")[1][0]) == 4)


def test_a_driver_that_has_only_taken_over_is_enough(s3: S3Server, paused: tuple[str, Process]) -> None:
    """Before it has finished anything the first can finish nothing any more."""
    prefix, process = paused
    url = wait_for_lease(s3, prefix)
    with world().run(at(url)) as run:
        assert run.engine.epoch_number == 3
        assert told_of_takeover(process)
        run.to_the_end()
        assert run.answers() == undisturbed(BoundedOptions(3))


# A store that fails.


def test_requests_that_fail_are_tried_again(s3: S3Server) -> None:
    print(f"seed {SEED}")
    failing = Unreliable(s3.port, 50, SEED)
    try:
        url = s3.url("unreliable", failing.endpoint)
        for _ in range(20):
            assert world().answers(at(url, 1)) == undisturbed(BoundedOptions(3))
            if all(failing.failed[kind] for kind in FAILURES):
                break
            bucket_at(bucket(url)).delete([f.key for f in bucket_at(bucket(url)).found("")])
        assert all(failing.failed[kind] for kind in FAILURES), failing.failed
    finally:
        failing.close()
    assert list(inspection.flaws(place_of(s3.url("unreliable")))) == []
