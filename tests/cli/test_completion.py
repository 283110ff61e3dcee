"""What Tab offers."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from continua.binding.settings import SETTINGS
from continua.catalog import Catalog
from continua.cli.completion import CatalogCompleter
from continua.cli.interpreter import COMMANDS
from continua.explain.completing import candidates
from continua.session import Session
from tests.cli.helpers import BIDS, ROOMS


@pytest.fixture
def catalog() -> Catalog:
    session = Session()
    session.execute(
        BIDS
        + ROOMS
        + "CREATE VIEW Cheap AS SELECT item_id AS cheap_item FROM Bid [ROWS 5] WHERE price < 5;"
        + "CREATE FUNCTION bounty(x INT) RETURNS INT AS x + 1; CREATE WINDOW biweekly AS [RANGE 14];"
    )
    return session.catalog


def texts(catalog: Catalog, text: str, after: str = "") -> list[str]:
    return [c.text for c in candidates(catalog, text, after, [c.split()[0] for c in COMMANDS])]


def test_keywords_functions_and_names(catalog: Catalog) -> None:
    assert texts(catalog, "SEL") == ["SELECT"]
    assert texts(catalog, "SELECT CONCAT") == ["CONCAT", "CONCAT_WS"]


def test_names_of_every_kind(catalog: Catalog) -> None:
    found = {c.text: c.kind for c in candidates(catalog, "SELECT b")}
    assert found["Bid"] == "stream"
    assert found["bounty"] == "function"
    assert found["biweekly"] == "window"
    assert found["by"] == "keyword"
    assert {c.text: c.kind for c in candidates(catalog, "SELECT pr")}["price"] == "column of Bid"


def test_words_of_the_language_follow_the_case_of_what_is_typed(catalog: Catalog) -> None:
    assert texts(catalog, "sel") == ["select"]
    assert texts(catalog, "Sel") == ["SELECT"]
    assert texts(catalog, "select * from bi") == ["Bid"]


def test_after_from_there_are_streams_relations_and_views_only(catalog: Catalog) -> None:
    assert texts(catalog, "SELECT * FROM ") == ["Bid", "Cheap", "Room"]
    assert texts(catalog, "SELECT * FROM Bid JOIN R") == ["Room"]
    assert texts(catalog, "DESCRIBE c") == ["Cheap"]
    assert texts(catalog, "\\d r") == ["Room"]


def test_queries_are_named_where_they_are_watched_stopped_and_asked(catalog: Catalog) -> None:
    def found(text: str) -> list[str]:
        return [c.text for c in candidates(catalog, text, queries=["top", "Recent"])]

    assert found("WATCH ") == found("stop ") == ["Recent", "top"]
    assert found("SELECT * FROM ") == ["Bid", "Cheap", "Recent", "Room", "top"]
    assert found("INSERT INTO ") == ["Bid", "Cheap", "Room"]


def test_after_a_dot_there_are_the_columns_of_the_table(catalog: Catalog) -> None:
    assert texts(catalog, "SELECT Bid.") == ["item_id", "price", "ts"]
    assert texts(catalog, "SELECT cheap.c") == ["cheap_item"]
    assert texts(catalog, "SELECT nothing.") == []


def test_after_a_dot_an_alias_stands_for_its_table(catalog: Catalog) -> None:
    assert texts(catalog, "SELECT * FROM Bid [ROWS 2] AS b, Room r WHERE r.") == ["degrees", "id", "op", "ts"]
    assert texts(catalog, "SELECT b.p", " FROM Bid b") == ["price"]


def test_settings_and_their_values(catalog: Catalog) -> None:
    assert texts(catalog, "SET ") == sorted(SETTINGS)
    assert texts(catalog, "SET dialect = ") == ["cql", "pipes", "sync"]
    assert texts(catalog, "set range_bounds = h") == ["half_open"]
    assert texts(catalog, "SET retention = u") == ["unlimited"]


def test_what_can_be_shown(catalog: Catalog) -> None:
    assert texts(catalog, "SHOW V") == ["VIEWS"]


def test_commands(catalog: Catalog) -> None:
    assert texts(catalog, "\\d") == ["\\d", "\\dialect"]
    assert texts(catalog, "\\dialect p") == ["pipes"]


def test_the_settings_are_those_of_the_language() -> None:
    session = Session()
    for name, setting in SETTINGS.items():
        for value in setting.examples or ("0",):
            session.execute(f"SET {name} = {value}")


def test_the_completer_replaces_the_word_before_the_cursor(catalog: Catalog) -> None:
    completer = CatalogCompleter(catalog, ())
    document = Document("SELECT b.pr FROM Bid b", cursor_position=len("SELECT b.pr"))
    (completion,) = completer.get_completions(document, CompleteEvent())
    assert (completion.text, completion.start_position) == ("price", -2)
