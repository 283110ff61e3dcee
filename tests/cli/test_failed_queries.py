"""A query that fails on its data: without a checkpoint it fails alone, with one its rows wait until they are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from continua.runtime.engine import Engine
from tests.cli.helpers import continua, lines, write_script
from tests.crash.world import manifests_in, number_of

STREAM = "CREATE STREAM B (item INT, price STRING, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts;\n"
QUERIES = {
    "good": "SELECT RSTREAM COUNT(*) AS n, MAX(price) AS p FROM B [RANGE 3 SLIDE 1] WHERE item > 3 HAVING COUNT(*) > 0",
    "bad": "SELECT ISTREAM item, CAST(price AS INT) AS p FROM B [NOW]",
    "good2": "SELECT ISTREAM item FROM B [NOW] WHERE item > 4",
    "worse": "SELECT ISTREAM item, 10 / (item - CAST(price AS INT)) AS q FROM B [NOW] WHERE item > 6",
}
GOOD = ("good", "good2")


def script(*names: str, into: bool) -> str:
    found = [f"REGISTER QUERY {n} AS {QUERIES[n]}" + (f" INTO json('{n}');\n" if into else ";\n") for n in names]
    return STREAM + "".join(found)


def write_rows(folder: Path, fourth: str, eighth: str = "8") -> None:
    prices = ["1", "2", "3", fourth, "5", "6", "7", eighth, "9"]
    rows = [f"{i},{price},{i}\n" for i, price in enumerate(prices, 1)]
    (folder / "b.csv").write_text("item,price,ts\n" + "".join(rows), encoding="utf-8")


def run(folder: Path, *names: str, into: bool = False, options: tuple[str, ...] = ()) -> Result:
    return continua("run", write_script(folder, script(*names, into=into)), *options)


def content(folder: Path, name: str) -> list[str]:
    """All answers in the folder of a query, and no other files."""
    files = sorted((folder / name).iterdir()) if (folder / name).exists() else []
    assert all(f.name.startswith("epoch-") for f in files)
    return [line for f in files for line in f.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("batch", [(), ("--batch-rows", "2")])
def test_others_have_their_answers_and_the_failing_queries_are_told(folder: Path, batch: tuple[str, ...]) -> None:
    write_rows(folder, "x", "y")
    result = run(folder, "good", "bad", "good2", "worse", options=batch)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == lines(run(folder, "good", "good2", options=batch))
    told = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 2
    assert told[0].startswith("error[EVALUATION_FAILED]: query bad: ")
    assert told[0].endswith("(at 4, on the row 4, 'x', 4)")
    assert "query worse: " in told[1]
    assert "(at 8" in told[1]
    assert [line[-6:] for line in result.stderr.splitlines() if "-->" in line] == ["ql:3:1", "ql:5:1"]


@pytest.mark.parametrize("batch", [(), ("--batch-rows", "2")])
def test_folders_of_others_are_complete_and_that_of_the_failing_query_is_empty(
    folder: Path, batch: tuple[str, ...]
) -> None:
    write_rows(folder, "4", "y")
    (folder / "bad").mkdir()
    (folder / "bad" / "notes.txt").write_text("mine", encoding="utf-8")
    result = run(folder, "good", "bad", "good2", into=True, options=batch)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "query bad: " in result.stderr
    assert "SINK" not in result.stderr
    found = {name: content(folder, name) for name in GOOD}
    assert [p.name for p in (folder / "bad").iterdir()] == ["notes.txt"]
    clean = folder / "clean"
    clean.mkdir()
    write_rows(clean, "4", "y")
    assert run(clean, *GOOD, into=True, options=batch).exit_code == 0
    assert found == {name: content(clean, name) for name in GOOD}
    assert all(found.values())


SUMS = """
CREATE STREAM L (item BIGINT, ts BIGINT) SOURCE csv('l.csv') ORDERED BY ts;
REGISTER QUERY over AS SELECT SUM(item) AS s FROM L [RANGE 5];
REGISTER QUERY fine AS SELECT MAX(item) AS s, COUNT(*) AS n FROM L [RANGE 5];
"""
"""Both are one aggregation of the graph, and only one of them overflows."""


def test_what_is_shared_fails_only_those_whose_own_plan_does(folder: Path) -> None:
    (folder / "l.csv").write_text(f"item,ts\n{2**63 - 9},1\n{2**63 - 9},2\n", encoding="utf-8")
    result = continua("run", write_script(folder, SUMS))
    assert result.exit_code == 1
    assert "query over: the query fails on its data: the sum does not fit its type" in result.stderr
    assert result.stderr.count("error[") == 1
    others = "".join(line for line in SUMS.splitlines() if " over " not in line)
    assert result.stdout.splitlines() == lines(continua("run", write_script(folder, others)))
    kept = continua("run", write_script(folder, SUMS), "--checkpoint", "ck")
    assert (kept.exit_code, kept.stdout) == (1, "")
    assert "query over: the query fails on its data: the sum does not fit its type (at 2)" in kept.stderr
    assert kept.stderr.count("error[") == 1


def test_queries_that_fail_by_the_same_operator_are_all_told(folder: Path) -> None:
    write_rows(folder, "x")
    text = script("good2", "bad", into=False) + f"REGISTER QUERY same AS {QUERIES['bad']};"
    result = continua("run", write_script(folder, text))
    assert result.exit_code == 1
    assert [json.loads(line)["query"] for line in result.stdout.splitlines()] == ["good2"] * 5
    assert "query bad: " in result.stderr
    assert "query same: " in result.stderr
    assert result.stderr.endswith("2 errors\n")


def test_contents_of_others_are_shown(folder: Path) -> None:
    write_rows(folder, "x")
    result = run(folder, "bad", "good2", options=("--at", "4"))
    assert result.exit_code == 1
    assert "query bad: " in result.stderr
    assert result.stdout.splitlines() == lines(run(folder, "good2", options=("--at", "4")))


@pytest.mark.parametrize("batch", ["1", "2", "9"])
def test_with_a_checkpoint_the_rows_wait_until_they_are_corrected(folder: Path, batch: str) -> None:
    write_rows(folder, "x")
    names = ("good", "bad", "good2")
    result = run(folder, *names, into=True, options=("--batch-rows", "2", "--checkpoint", "ck"))
    assert (result.exit_code, result.stdout) == (1, "")
    told = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert told[0].startswith("error[EVALUATION_FAILED]: query bad: ")
    assert told[0].endswith("(at 4, on the row 4, 'x', 4)")
    finished = {number_of(p) for p in manifests_in(folder / "ck")}
    assert finished
    for name in names:
        content(folder, name)
        published = (folder / name).iterdir() if (folder / name).exists() else []
        assert {int(p.name.split("-")[1].split(".")[0]) for p in published} <= finished
    again = run(folder, *names, into=True, options=("--batch-rows", "2", "--checkpoint", "ck"))
    assert (again.exit_code, again.stderr) == (1, result.stderr)
    write_rows(folder, "4")
    result = run(folder, *names, into=True, options=("--batch-rows", batch, "--checkpoint", "ck"))
    assert result.exit_code == 0, result.stderr
    clean = folder / "clean"
    clean.mkdir()
    write_rows(clean, "4")
    assert run(clean, *names, into=True, options=("--batch-rows", batch)).exit_code == 0
    for name in names:
        assert content(folder, name) == content(clean, name)
        assert content(folder, name)


def test_a_folder_ahead_of_its_checkpoint_is_refused(folder: Path) -> None:
    write_rows(folder, "x")
    options = ("--batch-rows", "2", "--checkpoint", "ck")
    assert run(folder, "bad", "good2", into=True, options=options).exit_code == 1
    stale = folder / "good2" / "epoch-0000000007-1-0.json"
    stale.parent.mkdir(exist_ok=True)
    stale.write_text("{}\n", encoding="utf-8")
    write_rows(folder, "4")
    result = run(folder, "bad", "good2", into=True, options=options)
    assert result.exit_code == 1
    assert "error[SINK_AHEAD]" in result.stderr
    stale.unlink()
    assert run(folder, "bad", "good2", into=True, options=options).exit_code == 0


def test_a_malformed_row_leaves_no_answers_behind(folder: Path) -> None:
    write_rows(folder, "4")
    good = (folder / "b.csv").read_text(encoding="utf-8")
    (folder / "b.csv").write_text(good + "x,10,10\n", encoding="utf-8")
    result = run(folder, "good2", into=True, options=("--batch-rows", "2"))
    assert result.exit_code == 1
    assert "error[MALFORMED_ROW]" in result.stderr
    assert content(folder, "good2") == []
    write_rows(folder, "4")
    assert run(folder, "good2", into=True).exit_code == 0


# With --keep-going.

KEEP_GOING = ("--batch-rows", "2", "--checkpoint", "ck", "--keep-going")


@pytest.mark.parametrize("again", [KEEP_GOING, KEEP_GOING[:-1]])
def test_a_failing_query_is_dropped_and_the_others_go_on(folder: Path, again: tuple[str, ...]) -> None:
    write_rows(folder, "x", "y")
    names = ("good", "bad", "good2", "worse")
    result = run(folder, *names, into=True, options=KEEP_GOING)
    assert (result.exit_code, result.stdout) == (1, "")
    told = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert [line.split(": ")[1] for line in told] == ["query bad", "query worse"]
    clean = folder / "clean"
    clean.mkdir()
    write_rows(clean, "x", "y")
    assert run(clean, *GOOD, into=True, options=KEEP_GOING[:2]).exit_code == 0
    for name in GOOD:
        assert content(folder, name) and sorted(content(folder, name)) == sorted(content(clean, name))
    assert all(json.loads(line)["t"] < 4 for line in content(folder, "bad"))
    files = {p: p.read_bytes() for n in names for p in (folder / n).glob("*.json")}
    result = run(folder, *names, into=True, options=again)
    assert (result.exit_code, result.stdout) == (1, "")
    told = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert [line.split(": ")[:3] for line in told] == [
        ["error[QUERY_DROPPED]", "query bad was dropped", "query bad"],
        ["error[QUERY_DROPPED]", "query worse was dropped", "query worse"],
    ]
    assert {p: p.read_bytes() for n in names for p in (folder / n).glob("*.json")} == files


def test_a_run_that_has_waited_goes_on_without_the_failing_query_once_it_is_told_to(folder: Path) -> None:
    write_rows(folder, "x")
    assert run(folder, "good", "bad", into=True, options=KEEP_GOING[:-1]).exit_code == 1
    assert run(folder, "good", "bad", into=True, options=KEEP_GOING).exit_code == 1
    clean = folder / "clean"
    clean.mkdir()
    write_rows(clean, "x")
    assert run(clean, "good", into=True, options=KEEP_GOING[:2]).exit_code == 0
    assert content(folder, "good") and sorted(content(folder, "good")) == sorted(content(clean, "good"))


def test_what_is_printed_of_the_others_is_as_if_the_failing_query_were_not_there(folder: Path) -> None:
    write_rows(folder, "x")
    for batch in ((), ("--batch-rows", "2")):
        result = run(
            folder, "good", "bad", "good2", options=(*batch, "--checkpoint", f"ck{len(batch)}", "--keep-going")
        )
        shown = [line for line in result.stdout.splitlines() if json.loads(line)["query"] != "bad"]
        assert result.exit_code == 1
        assert shown == lines(run(folder, "good", "good2", options=batch))


def test_a_run_of_which_nothing_would_be_left_ends(folder: Path) -> None:
    write_rows(folder, "x")
    result = run(folder, "bad", options=KEEP_GOING)
    assert (result.exit_code, result.stdout.splitlines()[2:]) == (1, [])
    assert "error[EVALUATION_FAILED]: query bad" in result.stderr
    write_rows(folder, "4")
    assert run(folder, "bad", options=KEEP_GOING).exit_code == 0


def test_aggregates_of_the_same_groups_fail_one_by_one_where_a_checkpoint_is_kept(folder: Path) -> None:
    write_rows(folder, "x")
    text = STREAM + "".join(
        f"REGISTER QUERY {name} AS SELECT item % 2 AS k, {what} AS v FROM B [RANGE 9] GROUP BY item % 2;\n"
        for name, what in (("summed", "SUM(CAST(price AS INT))"), ("counted", "COUNT(price)"), ("most", "MAX(item)"))
    )
    result = continua("run", write_script(folder, text), *KEEP_GOING)
    told = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 1 and told[0].startswith("error[EVALUATION_FAILED]: query summed: ")
    assert {json.loads(line)["query"] for line in result.stdout.splitlines()} >= {"counted", "most"}


def test_a_drop_is_known_whatever_happens_right_after_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(folder, "x", "y")
    names, calls = ("good", "bad", "good2", "worse"), [0]
    real = Engine.change

    def stopped(self: Engine, *rest: object) -> None:
        real(self, *rest)  # type: ignore[arg-type]
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "change", stopped)
        assert run(folder, *names, into=True, options=KEEP_GOING).exit_code == 130
    for _ in range(2):
        assert "FILE_" not in run(folder, *names, into=True, options=KEEP_GOING).stderr
        assert continua("checkpoint", "verify", str(folder / "ck")).exit_code == 0
    clean = folder / "clean"
    clean.mkdir()
    write_rows(clean, "x", "y")
    assert run(clean, *GOOD, into=True, options=KEEP_GOING[:2]).exit_code == 0
    for name in GOOD:
        assert content(folder, name) and sorted(content(folder, name)) == sorted(content(clean, name))


def test_where_all_fail_one_after_the_other_all_are_told(folder: Path) -> None:
    write_rows(folder, "x", "y")
    for _ in range(2):
        result = run(folder, "bad", "worse", options=KEEP_GOING)
        assert result.exit_code == 1
        assert "query bad" in result.stderr and "query worse: " in result.stderr


@pytest.mark.parametrize("options", [(), ("--batch-rows", "1")])
def test_queries_that_are_run_again_alone_print_all_of_their_answers(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "l.csv").write_text(f"item,ts\n{2**62},1\n{2**62},2\n5,3\n", encoding="utf-8")
    text = "CREATE STREAM L (item BIGINT, ts BIGINT) SOURCE csv('l.csv') ORDERED BY ts;\n"
    queries = {
        "other": "SELECT ISTREAM item FROM L [NOW]",
        "bad": "SELECT item % 2 AS k, SUM(item) AS s FROM L [RANGE 6] GROUP BY item % 2",
        "good": "SELECT item % 2 AS k, MAX(item) AS m FROM L [RANGE 6] GROUP BY item % 2",
    }
    whole = text + "".join(f"REGISTER QUERY {name} AS {query};\n" for name, query in queries.items())
    result = continua("run", write_script(folder, whole), *options)
    assert result.exit_code == 1
    for name in ("other", "good"):
        alone = lines(continua("run", write_script(folder, f"{text}REGISTER QUERY {name} AS {queries[name]};")))
        assert [line for line in result.stdout.splitlines() if json.loads(line)["query"] == name] == alone
