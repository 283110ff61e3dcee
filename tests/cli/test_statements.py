"""Where a statement ends."""

from __future__ import annotations

import random

import pytest

from continua.cli.typed_text import StatementReader, is_complete
from continua.lang.dialect import ContinuaDialect


def pieces(text: str) -> list[str]:
    reader = StatementReader(text)
    return [reader.text[p.start : p.end].strip() for p in reader.finish()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ;; \n; ", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';';x", ["SELECT ';'", "x"]),
        ("SELECT 'it\\';s';x", ["SELECT 'it\\';s'", "x"]),
        ("SELECT '\\\\';x", ["SELECT '\\\\'", "x"]),
        ('SELECT ";" ; x', ['SELECT ";"', "x"]),
        ("SELECT `a;``b` ; x", ["SELECT `a;``b`", "x"]),
        ("SELECT `\\`;x", ["SELECT `\\`", "x"]),
        ("SELECT r'\\';x", ["SELECT r'\\'", "x"]),
        ("-- a; b\nSELECT 1;", ["SELECT 1"]),
        ("SELECT 1 -- a; b\n + 2;", ["SELECT 1 -- a; b\n + 2"]),
        ("/* a; /* b; */ c; */ SELECT 1;", ["SELECT 1"]),
        ("-- only a comment", []),
        ("/* only a comment */ ;", []),
        ("SELECT 'open;", ["SELECT 'open;"]),
        ("SELECT /* open;", ["SELECT /* open;"]),
        ("\\d\nSELECT 1;\n  \\d x\n", ["\\d", "SELECT 1", "\\d x"]),
        ("\\q", ["\\q"]),
        ("\\i a;b\nSELECT 1", ["\\i a;b", "SELECT 1"]),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "-- note", "SELECT 1;", "SELECT 1; -- done", "\\d", "SELECT 1;\n\n"])
def test_enter_runs_what_is_complete(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize("text", ["SELECT", "SELECT 1; SELECT", "SELECT ';", "SELECT 1 /* ;", "SELECT 1 -- ;", "/*"])
def test_enter_goes_on_where_something_is_open(text: str) -> None:
    assert not is_complete(text)


def test_statements_come_as_soon_as_they_are_complete() -> None:
    reader = StatementReader()
    found = [
        [reader.text[p.start : p.end] for p in reader.feed(line)]
        for line in ("SELECT 1;\nSEL", "ECT\n", "2; \\d", "\n")
    ]
    assert found == [["SELECT 1"], [], ["SELECT\n2"], ["\\d"]]
    assert reader.is_empty


def test_a_piece_alone_keeps_its_place() -> None:
    reader = StatementReader("SELECT 'é';\n\tSELECT 1; SELECT\n2;")
    alone = [reader.alone(piece) for piece in reader.finish()]
    assert alone == ["SELECT 'é'", "           \n SELECT 1", "           \n           SELECT\n2"]


def test_pieces_are_those_that_the_tokenizer_sees() -> None:
    seed = 7
    generator = random.Random(seed)
    parts = ["'", '"', "`", "\\'", "--", "\n", "/*", "*/", ";", "r'", "a", " ", "1", "''", "\\\\"]
    compared = 0
    for _ in range(3000):
        text = "x" + "".join(generator.choices(parts, k=generator.randint(1, 12)))
        try:
            tokens = ContinuaDialect().tokenize(text)
        except Exception:  # an open quote or comment, which ends nowhere
            continue
        ends = [token.start for token in tokens if token.token_type.name == "SEMICOLON"]
        chunks = [
            a for a, b in zip([-1, *ends], [*ends, len(text)], strict=True) if any(a < t.start < b for t in tokens)
        ]
        if "\\" in {text[t.start] for t in tokens}:
            continue  # a backslash outside of quotes is a command here and nonsense there
        compared += 1
        assert len(pieces(text)) == len(chunks), (seed, text)
    assert compared > 300
