"""Every example in the documents runs."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from continua.cli.demo import write_examples
from continua.cli.main import main
from continua.errors import ContinuaError
from continua.rules.order import ALL
from continua.runtime.checkpoint.opening import FORMAT
from continua.session import Session
from tests.function_tables import TABLES, table, written

ROOT = Path(__file__).resolve().parent.parent
BIDS = (
    "CREATE STREAM Bid (item_id INT, bidder_id INT, bid_price DOUBLE, ts TIMESTAMP)\n"
    "  SOURCE csv('bids.csv') ORDERED BY ts SLACK 5 SECONDS;\n"
)


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    found: list[list[str]] = []
    open_fence: str | None = None
    for line in (ROOT / document).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if open_fence is None:
                open_fence = line[3:].strip()
                found += [[]] if open_fence == language else []
            else:
                open_fence = None
        elif open_fence == language:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


@pytest.mark.parametrize("block", [b for b in blocks("docs/python.md", "python") if 'master="none"' in b])
def test_the_python_page_runs(block: str) -> None:
    *steps, last = [line for line in block.splitlines() if line.strip()]
    body, question = "\n".join(steps), next(line for line in steps if "# [" in line)
    shown, expected = question.split("#")
    names: dict[str, object] = {}
    exec(body.replace(question, f"found = {shown}"), names)
    assert names["found"] == ast.literal_eval(expected.strip())
    assert last == "session.stop()"
    exec(last, names)


@pytest.mark.parametrize("block", [*blocks("docs/python.md", "python"), *blocks("docs/python.md", "")])
def test_every_block_of_the_python_page_has_its_imports(block: str) -> None:
    body = ast.parse(block).body
    known: dict[str, object] = vars(builtins).copy()
    for imported in body:
        if isinstance(imported, ast.Import | ast.ImportFrom):
            exec(ast.unparse(imported), known)
    used = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)]
    assigned = {node.id for node in used if isinstance(node.ctx, ast.Store)}
    assigned |= {node.arg for statement in body for node in ast.walk(statement) if isinstance(node, ast.arg)}
    assigned |= {statement.name for statement in body if isinstance(statement, ast.FunctionDef)}
    assert {node.id for node in used} <= known.keys() | assigned


def test_every_statement_of_the_language_page_binds() -> None:
    session = Session()
    statements = 0
    for block in blocks("docs/language.md", "sql"):
        statements += len(session.execute(block))
    assert statements >= 30


def windows_of_the_language_page() -> list[str]:
    """The windows in the table of all kinds."""
    table = (ROOT / "docs/language.md").read_text(encoding="utf-8").split("| window |")[1].split("\n\n")[0]
    return re.findall(r"`(\[[^`]+\]|WINDOW[^`]+)`", table)


def test_the_window_table_of_the_language_page_parses() -> None:
    session = Session()
    session.execute(BIDS + "CREATE STREAM S (a INT, b INT, ts TIMESTAMP) ORDERED BY ts;")
    windows = windows_of_the_language_page()
    assert len(windows) >= 12
    for window in windows:
        session.execute(f"SELECT COUNT(*) FROM S {window};")


def test_the_rules_of_the_language_page_are_all_there_are() -> None:
    (rules,) = blocks("docs/language.md", "")
    assert set(rules.split()) == set(ALL)


@pytest.mark.parametrize("head", TABLES)
def test_the_tables_of_functions_are_those_that_are_declared(head: str) -> None:
    page = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    assert written(page, head) == table(head), "python -m tests.function_tables writes the tables"


def test_the_page_of_the_commands_names_the_format_of_checkpoints() -> None:
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"tells which, now (\d+)\)", text) == [str(FORMAT)]


def test_the_first_example_of_the_readme_gives_the_lines_it_shows(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("1,2,10.5,2024-05-01T10:00:00Z\n", encoding="utf-8")
    session = Session(data=tmp_path)
    session.execute(blocks("README.md", "sql")[0])
    lines = [(a.instant, a.op, a.row) for a in session.answers()]
    assert lines == [
        (0, "+", (0,)),
        (1714557600000000, "-", (0,)),
        (1714557600000000, "+", (1,)),
        (1714561200000001, "-", (1,)),
        (1714561200000001, "+", (0,)),
    ]


def test_the_examples_of_the_package_give_the_lines_that_the_readme_shows(tmp_path: Path) -> None:
    block = next(b for b in blocks("README.md", "") if "examples/auction.sql" in b)
    shown = [line for line in block.splitlines() if line.startswith("{")]
    write_examples(tmp_path)
    found = CliRunner().invoke(main, ["run", str(tmp_path / "auction.sql"), "--master", "none"])
    assert found.stdout.splitlines()[: len(shown)] == shown


def test_the_page_on_answers_shows_what_is_answered(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text(blocks("docs/answers.md", "csv")[0] + "\n")
    (tmp_path / "page.sql").write_text(blocks("docs/answers.md", "sql")[0])
    shown = next(b for b in blocks("docs/answers.md", "") if b.startswith('{"query": "q1", "t": 2'))
    found = CliRunner().invoke(main, ["run", str(tmp_path / "page.sql"), "--master", "none"])
    assert found.stdout.splitlines() == shown.splitlines()


def test_the_shell_answers_as_the_page_of_the_commands_shows() -> None:
    typed = blocks("docs/command-line.md", "sql")[0]
    shown = next(b for b in blocks("docs/command-line.md", "") if b.startswith("q1: relation"))
    found = CliRunner().invoke(main, ["shell"], input=typed)
    assert [line.rstrip() for line in found.stdout.splitlines()] == shown.splitlines()


def test_the_mistakes_of_the_readme_are_told_as_it_says() -> None:
    script = BIDS + "\n\nSELECT itm_id FROM Bid [RANGE 1 HOUR] WHERE bid_price > 'high'"
    with pytest.raises(ContinuaError) as caught:
        Session().execute(script)
    shown = next(b for b in blocks("README.md", "") if b.startswith("error["))
    assert caught.value.render(script, "bids.sql") == shown


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "docs/engine.md"])
def test_every_module_that_is_named_is_there(document: str) -> None:
    """By its path in the package, or by its name alone where the sentence says which folder is meant."""
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", (ROOT / document).read_text(encoding="utf-8")))
    folders = [ROOT / "src" / "continua", ROOT / "tests", ROOT / "benchmarks"]
    known = {path.as_posix() for folder in folders for path in folder.rglob("*.py")}
    assert named
    assert not {name for name in named if not any(path.endswith(f"/{name}") for path in known)}
