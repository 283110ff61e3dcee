"""A query that has failed on its data and is corrected: it begins anew, the others go on, and sinks are as if it had
been right from the beginning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.helpers import continua, write_script
from tests.cli.test_failed_queries import content
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import fresh_process

STREAM = "CREATE STREAM B (item INT, price STRING, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts;\n"
WRONG = {
    "counts": "SELECT item % 3 AS k, COUNT(*) AS n FROM B [RANGE 4] GROUP BY item % 3",
    "sums": "SELECT item % 3 AS k, COUNT(*) AS n, SUM(CAST(price AS INT)) AS s FROM B [RANGE 4] GROUP BY item % 3",
    "pairs": "SELECT x.item AS a, y.item AS b FROM B [RANGE 2] x, B [ROWS 3] y WHERE x.item % 2 = y.item % 2",
    "tagged": "SELECT STREAMED item % 2 AS k, MAX(10 / (item - CAST(price AS INT) - 7)) AS q FROM B [RANGE 4]"
    " GROUP BY item % 2",
}
"""The second fails on a price that is no number, the fourth on the same one, and on the price of the third row."""
RIGHT = {
    **WRONG,
    "sums": WRONG["sums"].replace("CAST", "TRY_CAST"),
    "tagged": WRONG["tagged"].replace("10 / (item - CAST(price AS INT) - 7)", "item"),
}
OPTIONS = ("--batch-rows", "2", "--checkpoint", "ck")


def write_rows(folder: Path, wrong: str = "x", rows: int = 12) -> None:
    prices = {7: wrong}
    lines = [f"{i},{prices.get(i, str(i))},{i}\n" for i in range(1, rows + 1)]
    (folder / "b.csv").write_text("item,price,ts\n" + "".join(lines), encoding="utf-8")


def run(folder: Path, queries: Mapping[str, str], *options: str, form: str = "json") -> Result:
    texts = [f"REGISTER QUERY {name} AS {text} INTO {form}('{name}');\n" for name, text in queries.items()]
    return continua("run", write_script(folder, STREAM + "".join(texts)), *(options or OPTIONS))


def failed(folder: Path, queries: Mapping[str, str], *options: str) -> list[str]:
    """Runs queries of which some fail; the lines that tell so."""
    result = run(folder, queries, *options)
    assert result.exit_code == 1
    return [line for line in result.stderr.splitlines() if line.startswith("error")]


def check_clean(folder: Path, queries: Mapping[str, str]) -> None:
    """Folders have what a run has written that met nothing wrong in its queries."""
    clean = folder / "clean"
    clean.mkdir()
    (clean / "b.csv").write_bytes((folder / "b.csv").read_bytes())
    assert run(clean, queries, "--batch-rows", "2").exit_code == 0
    for name in queries:
        assert content(clean, name)
        assert sorted(content(folder, name)) == sorted(content(clean, name)), name


def files(folder: Path, name: str) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in (folder / name).iterdir()}


def test_a_corrected_query_begins_anew_and_the_others_go_on(folder: Path) -> None:
    write_rows(folder)
    queries = {**WRONG, "tagged": RIGHT["tagged"]}
    assert len(failed(folder, queries)) == 1
    before = {name: files(folder, name) for name in queries}
    assert all(before.values())
    result = run(folder, RIGHT)
    assert result.exit_code == 0, result.stderr
    assert "query sums is not what it was" in result.stderr
    check_clean(folder, RIGHT)
    for name in ("counts", "pairs", "tagged"):
        assert before[name].items() <= files(folder, name).items()
    assert before["sums"].items().isdisjoint(files(folder, "sums").items())
    again = run(folder, RIGHT)
    assert (again.exit_code, again.stderr) == (0, "")


def test_what_is_told_of_a_checkpoint_is_of_corrected_queries_too(folder: Path) -> None:
    write_rows(folder)
    queries = {"counts": WRONG["counts"], "sums": WRONG["sums"]}
    assert failed(folder, queries)
    assert run(folder, {**queries, "sums": RIGHT["sums"]}).exit_code == 0

    def asked(*arguments: str) -> str:
        result = continua("checkpoint", *arguments)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    shown = [line.split() for line in asked("show", "ck").splitlines() if line.startswith("query")]
    assert shown == [["query", "counts"], ["query", "sums"]]
    asked("clean", "ck")
    asked("verify", "ck")
    asked("copy", "ck", "other")
    asked("verify", "other")
    copied = ("--batch-rows", "2", "--checkpoint", "other")
    assert run(folder, {**queries, "sums": RIGHT["sums"]}, *copied).exit_code == 0
    path = next((folder / "ck" / "corrected" / "1" / "results").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    assert continua("checkpoint", "verify", "ck").exit_code == 1


def test_two_are_corrected_at_once_and_one_of_them_again(folder: Path) -> None:
    write_rows(folder)
    assert failed(folder, WRONG)
    still = {**RIGHT, "sums": WRONG["sums"].replace("COUNT(*)", "COUNT(item)")}
    assert ["query sums: " in line for line in failed(folder, still)] == [True]
    result = run(folder, RIGHT)
    assert result.exit_code == 0, result.stderr
    check_clean(folder, RIGHT)
    assert sorted(p.name for p in (folder / "ck" / "corrected").iterdir()) == ["1", "2"]


def test_what_is_left_of_an_earlier_correction_is_removed(folder: Path) -> None:
    write_rows(folder)
    queries = {"counts": WRONG["counts"], "sums": WRONG["sums"]}
    assert failed(folder, queries)
    assert failed(folder, {**queries, "sums": WRONG["sums"].replace("COUNT(*)", "COUNT(item)")})
    right = {**queries, "sums": RIGHT["sums"]}
    for _ in range(2):
        assert run(folder, right).exit_code == 0
    assert [p.name for p in (folder / "ck" / "corrected").iterdir()] == ["2"]
    check_clean(folder, right)


def test_all_queries_are_corrected(folder: Path) -> None:
    write_rows(folder)
    assert failed(folder, {"sums": WRONG["sums"]})
    result = run(folder, {"sums": RIGHT["sums"]})
    assert result.exit_code == 0, result.stderr
    check_clean(folder, {"sums": RIGHT["sums"]})


def test_answers_that_are_printed_are_in_order(folder: Path) -> None:
    write_rows(folder)
    queries = {"counts": WRONG["counts"], "sums": WRONG["sums"]}

    def printed(found: Mapping[str, str], *options: str) -> Result:
        texts = [f"REGISTER QUERY {name} AS {text};\n" for name, text in found.items()]
        return continua("run", write_script(folder, STREAM + "".join(texts)), *options)

    assert printed(queries, *OPTIONS).exit_code == 1
    right = {**queries, "sums": RIGHT["sums"]}
    assert printed(right, *OPTIONS).stdout == printed(right, "--batch-rows", "2").stdout


def test_a_dropped_query_is_run_again_when_it_is_corrected(folder: Path) -> None:
    write_rows(folder)
    queries = {**WRONG, "tagged": RIGHT["tagged"]}
    assert len(failed(folder, queries, *OPTIONS, "--keep-going")) == 1
    result = run(folder, RIGHT)
    assert result.exit_code == 0, result.stderr
    check_clean(folder, RIGHT)


def test_the_sink_of_a_corrected_query_may_be_of_another_format(folder: Path) -> None:
    write_rows(folder)
    queries = {"sums": WRONG["sums"]}
    assert failed(folder, queries)
    assert run(folder, {"sums": RIGHT["sums"]}, form="csv").exit_code == 0
    assert {path.suffix for path in files(folder, "sums")} == {".csv"}


def test_what_others_have_put_into_its_folder_is_not_removed(folder: Path) -> None:
    write_rows(folder)
    assert failed(folder, WRONG)
    stranger = folder / "sums" / "epoch-0000000001-9-9.json"
    stranger.write_text("{}\n", encoding="utf-8")
    result = run(folder, {**RIGHT, "tagged": RIGHT["tagged"]})
    assert result.exit_code == 1
    assert "error[SINK_NOT_EMPTY]" in result.stderr
    assert stranger.exists()
    stranger.unlink()
    assert run(folder, RIGHT).exit_code == 0
    check_clean(folder, RIGHT)


@pytest.mark.parametrize("change", ["added", "removed", "without failure"])
def test_other_queries_are_refused_still(folder: Path, change: str) -> None:
    write_rows(folder, wrong="7" if change == "without failure" else "x")
    queries = {name: WRONG[name] for name in ("counts", "sums")}
    assert run(folder, queries).exit_code == (0 if change == "without failure" else 1)
    before = {path: path.read_bytes() for path in (folder / "ck").rglob("*") if path.is_file()}
    match change:
        case "added":
            queries["pairs"] = WRONG["pairs"]
        case "removed":
            del queries["sums"]
        case _:
            queries["sums"] = RIGHT["sums"]
    assert failed(folder, queries)[0].startswith("error[OTHER_QUERIES]")
    assert {path: path.read_bytes() for path in (folder / "ck").rglob("*") if path.is_file()} == before


def test_only_the_epoch_that_failed_can_be_corrected(folder: Path) -> None:
    write_rows(folder)
    assert failed(folder, {"sums": WRONG["sums"]})
    write_rows(folder, "7")
    assert run(folder, {"sums": WRONG["sums"]}).exit_code == 0
    assert failed(folder, {"sums": RIGHT["sums"]})[0].startswith("error[OTHER_QUERIES]")


@pytest.mark.parametrize("step", [2, 3, 4, 33, 60, 87])
def test_a_run_that_is_killed_while_it_catches_up_goes_on(folder: Path, step: int) -> None:
    write_rows(folder)
    assert failed(folder, WRONG)
    with fresh_process(), hooked(Fault(step)), pytest.raises(Stopped):
        run(folder, RIGHT)
    result = run(folder, RIGHT)
    assert result.exit_code == 0, result.stderr
    check_clean(folder, RIGHT)
