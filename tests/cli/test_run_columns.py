"""What is printed does not depend on whether rows and answers are columns or objects."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from continua.runs import bounded as continua_running
from continua.runtime.inputs import InputReader
from tests.cli.helpers import BIDS, ROOMS, TIMED, continua, write_script

MIXED = (
    "CREATE STREAM m (k STRING, d DOUBLE, n DECIMAL(8,2), b BOOLEAN, day DATE, at TIMESTAMP, raw BINARY, ts BIGINT)\n"
    "  SOURCE csv('mixed.csv') ORDERED BY ts;\n"
)
LATE = "CREATE STREAM late (a INT, ts BIGINT) SOURCE csv('late.csv') ORDERED BY ts ON ERROR SKIP;\n"
_LINE = re.compile(r'\{"query": "\w+", (.*), "row": \{(.*)\}\}')
ODD_NAME = '`an " id`'
SCRIPTS = [
    BIDS + "SELECT item_id, MAX(price) AS top FROM Bid [RANGE 3] GROUP BY item_id;",
    BIDS + "SELECT ISTREAM * FROM Bid [NOW]; SELECT COUNT(*) AS n FROM Bid [RANGE 2]; SELECT price FROM Bid;",
    BIDS + "SELECT RSTREAM item_id FROM Bid [RANGE 2]; SELECT ISTREAM item_id FROM Bid [RANGE 2];",
    TIMED + f"SELECT item_id AS {ODD_NAME} FROM Seen [RANGE 1 SECOND];",
    ROOMS + "SELECT AVG(degrees) AS mean FROM Room; SELECT STREAMED * FROM Room;",
    MIXED + "SELECT * FROM m [RANGE 4];",
    MIXED + "SELECT k, SUM(d) AS s, SUM(n) AS t FROM m [RANGE 9] GROUP BY k; SELECT ISTREAM at, raw FROM m [NOW];",
    MIXED + "SELECT d, k FROM m [ROWS 3]; SELECT ARRAY(k) AS list FROM m [NOW];",
    LATE + "SELECT a FROM late [RANGE 2];",
]


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    rng = random.Random(5)
    keys = ["a", '"say ""hi"", you"', "ü ", "", " x", "line\\n", '"two\nlines"']
    lines = ["k,d,n,b,day,at,raw,ts"]
    for i in range(300):
        number = rng.choice(["0", "1.5", "-2.25", "1e300", "", "0.1"])
        money = rng.choice(["1.25", "-3", "", "0.5"])
        rest = f"{rng.choice(['true', 'no', ''])},2024-02-{rng.randint(1, 29):02},2024-01-01T00:00:0{i % 10}.5Z,"
        lines.append(f"{rng.choice(keys)},{number},{money},{rest}{rng.choice(['x', 'é', ''])},{i // 4}")
    (folder / "mixed.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "late.csv").write_text("a,ts\n1,1\n2,5\nx,6\n3,4\n4,7\n", encoding="utf-8")


@pytest.mark.parametrize("number", range(len(SCRIPTS)))
@pytest.mark.parametrize("form", ["jsonl", "csv", "table"])
def test_the_same_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, form: str) -> None:
    script = write_script(folder, SCRIPTS[number])
    monkeypatch.setattr("continua.cli.line_output._AT_ONCE", 7)
    fast = continua("run", script, "--format", form)
    monkeypatch.setattr(continua_running, "columns_from", lambda *_: None)
    monkeypatch.setattr(InputReader, "_table", lambda *_: None)
    slow = continua("run", script, "--format", form)
    assert fast.exit_code == 0, fast.stderr
    assert (fast.stdout_bytes, fast.stderr) == (slow.stdout_bytes, slow.stderr)
    assert fast.stdout


@pytest.mark.parametrize("number", [0, 5, 6])
def test_the_same_content(folder: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    script = write_script(folder, SCRIPTS[number])
    fast = continua("run", script, "--at", "5")
    monkeypatch.setattr(InputReader, "_table", lambda *_: None)
    assert fast.exit_code == 0
    assert fast.stdout_bytes == continua("run", script, "--at", "5").stdout_bytes


@pytest.mark.parametrize("number", [0, 5, 6, 7])
def test_the_same_json_in_a_folder(folder: Path, number: int) -> None:
    text = "".join(
        f"REGISTER QUERY x{i} AS {q} INTO json('out{i}');" for i, q in enumerate(queries_of(SCRIPTS[number]))
    )
    definition = SCRIPTS[number].partition("SELECT")[0]
    result = continua("run", write_script(folder, definition + text))
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    again = write_script(folder, definition + re.sub(r" INTO json\('out\d'\)", "", text))
    printed = continua("run", again).stdout.splitlines()
    assert printed
    for i in range(len(queries_of(SCRIPTS[number]))):
        lines = [_LINE.fullmatch(line) for line in printed if line.startswith(f'{{"query": "x{i}"')]
        written = "".join(path.read_text(encoding="utf-8") for path in (folder / f"out{i}").glob("*.json"))
        written = written.replace(', "t_2": ', ', "t": ')  # the instant has that name
        assert sorted(written.splitlines()) == sorted(f"{{{line[1]}, {line[2]}}}" for line in lines if line)


def queries_of(script: str) -> list[str]:
    return [f"SELECT {text.strip().removesuffix(';')}" for text in script.split("SELECT")[1:]]
