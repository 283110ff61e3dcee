"""Graphs of operators: to SQL and back with equal plans, what is wrong with them, what they make of a sample."""

from __future__ import annotations

import pytest

from continua.errors import BindError
from continua.server.builder.both_ways import graph_from_sql
from continua.server.builder.checking import bound, check
from continua.server.builder.graph import graph_of
from continua.server.builder.to_sql import statement_sql, written
from continua.server.roles import Role
from continua.session import Session
from tests.server.conftest import BIDS, run, served, service_of

STREAMS = """
CREATE STREAM Bid (itemID INT, bid_price REAL, bidderID INT, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM Open (itemID INT, sellerID INT, start REAL, ts TIMESTAMP) ORDERED BY ts;
CREATE VIEW v AS SELECT itemID, COUNT(*) AS n FROM Bid [RANGE 1 HOUR] GROUP BY itemID;
"""
DRAWN = (
    "SELECT b.itemID FROM Bid [RANGE 10 MINUTES] b LEFT SEMI JOIN "
    "(SELECT MAX(bid_price) AS m FROM Bid [RANGE 10 MINUTES]) h ON b.bid_price = h.m",
    "SELECT b.itemID FROM Bid [ROWS 9] b, (SELECT MAX(bid_price) AS m FROM Bid [ROWS 9]) h WHERE b.bid_price = h.m",
    "WITH w AS (SELECT * FROM Bid [ROWS 9]) SELECT b.itemID FROM w b JOIN (SELECT MAX(bid_price) AS m FROM w) h "
    "ON b.bid_price = h.m",
    "SELECT * FROM (SELECT ISTREAM itemID FROM Bid [RANGE 10 MINUTES]) [ROWS 5] x",
    "SELECT itemID, COUNT(*) AS n FROM Bid [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE bid_price > 3 AND itemID < 5 "
    "GROUP BY itemID HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3",
    "SELECT DISTINCT itemID FROM Bid [NOW]",
    "SELECT itemID FROM Bid [NOW] UNION ALL SELECT itemID FROM Open [NOW] UNION ALL SELECT itemID FROM v",
    "(SELECT itemID FROM Bid [NOW] UNION MAX SELECT itemID FROM Open [NOW]) EXCEPT ALL SELECT itemID FROM v LIMIT 2",
    "SELECT itemID FROM Bid [NOW] EXCEPT STRICT SELECT itemID FROM v",
    "SELECT itemID FROM Bid [NOW] INTERSECT SELECT itemID FROM v",
    "SELECT RSTREAM(*) FROM Bid [NOW]",
    "SELECT DSTREAM DISTINCT itemID FROM Bid [ROWS 3]",
    "ISTREAM(SELECT COUNT(*) AS n FROM Bid [RANGE 1 HOUR])",
    "SELECT * FROM Bid",
    "SELECT * FROM (SELECT * FROM Bid WHERE bid_price > 3) [ROWS 5]",
    "SELECT * FROM (SELECT * FROM Bid [ROWS 5] WHERE bid_price > 3) WHERE itemID < 5",
    "SELECT itemID FROM Bid [ROWS 5] WHERE bid_price = (SELECT MAX(bid_price) FROM Bid [ROWS 5])",
    "SELECT a.itemID FROM Bid [ROWS 3] a LEFT JOIN Open [ROWS 4] o ON a.itemID = o.itemID JOIN v ON v.n = a.itemID",
    "SELECT itemID, sellerID FROM Bid [ROWS 5] JOIN Open [NOW] USING (itemID)",
    "SELECT itemID FROM Bid [PARTITION BY itemID ROWS 5] b NATURAL JOIN Open [NOW]",
    "SELECT CASE WHEN itemID > 3 THEN 'a''b' ELSE 'c' END AS c FROM Bid [NOW] WHERE itemID IN (1, 2)",
    "SELECT n + 1 AS m FROM v WHERE n BETWEEN 1 AND 2 AND n IS NOT NULL",
)


@pytest.mark.parametrize("dialect", ["cql", "pipes", "sync"])
def test_a_query_and_its_drawing_have_equal_plans_both_ways(dialect: str) -> None:
    session = Session(master="none", dialect=dialect)
    session.execute(STREAMS)
    for text in DRAWN:
        plan, _ = bound(session.catalog, text)
        graph = graph_from_sql(session.catalog, text)
        assert "sql" not in {node.kind for node in graph.nodes}, text
        assert graph_of(graph.json()) == graph
        again = statement_sql(graph, graph.roots[0])
        assert bound(session.catalog, again)[0] == plan, again
        assert graph_from_sql(session.catalog, again) == graph
        assert not [c.errors for c in check(graph, session.catalog).values() if c.errors], text


def test_equal_parts_of_a_query_are_drawn_once() -> None:
    session = Session(master="none")
    session.execute(STREAMS)
    kinds = [node.kind for node in graph_from_sql(session.catalog, DRAWN[0]).nodes]
    assert kinds == ["source", "window", "aggregate", "join", "map", "sink"]


def test_what_has_no_operator_is_one_operator_of_sql_as_a_whole_or_in_part() -> None:
    session = Session(master="none")
    session.execute(STREAMS)
    whole = "SELECT x FROM (VALUES (1), (2)) AS t(x)"
    part = f"SELECT itemID FROM Bid [NOW] UNION ALL {whole}"
    found = [[node.kind for node in graph_from_sql(session.catalog, text).nodes] for text in (whole, part)]
    assert found == [["sql", "sink"], ["source", "window", "map", "sql", "union", "sink"]]
    graph = graph_from_sql(session.catalog, part)
    plans = [bound(session.catalog, text)[0] for text in (part, written(graph, graph.roots[0]).sql)]
    assert plans[0] == plans[1]


def test_how_a_query_is_registered_is_kept() -> None:
    session = Session(master="none")
    session.execute(STREAMS)
    text = "REGISTER QUERY `a b` GROUP g STARTING AT EARLIEST AS\nSELECT itemID\nFROM Bid [NOW]\nINTO csv('out')"
    graph = graph_from_sql(session.catalog, text)
    assert statement_sql(graph, graph.roots[0]) == text


def _graph(*nodes: tuple[str, str, dict[str, str], list[str | None]]) -> dict[str, object]:
    return {
        "nodes": [
            {"id": i, "kind": k, "properties": p, "inputs": [n and {"node": n, "alias": ""} for n in read]}
            for i, k, p, read in nodes
        ]
    }


@pytest.mark.parametrize(
    ("nodes", "condition"),
    [
        ([("a", "filter", {}, ["b"]), ("b", "filter", {}, ["a"])], "CIRCLE"),
        ([("a", "filter", {}, ["b"])], "NOT_A_GRAPH"),
        ([("a", "loop", {}, [])], "NOT_A_GRAPH"),
        ([("a", "source", {"price": "3"}, [])], "NOT_A_GRAPH"),
        ([("a", "distinct", {}, [None, None])], "NOT_A_GRAPH"),
        ([("a", "source", {}, []), ("a", "source", {}, [])], "NOT_A_GRAPH"),
        ([(str(n), "sql", {}, []) for n in range(201)], "TOO_MANY_NODES"),
    ],
)
def test_what_is_no_graph_is_refused(
    nodes: list[tuple[str, str, dict[str, str], list[str | None]]], condition: str
) -> None:
    with pytest.raises(BindError) as caught:
        graph_of(_graph(*nodes))
    assert caught.value.condition == condition
    others: tuple[object, ...] = (None, [], {"nodes": 3}, {"nodes": [{"id": 3, "kind": "source"}]})
    for data in others:
        with pytest.raises(BindError):
            graph_of(data)


@pytest.mark.parametrize(
    ("kind", "properties", "condition"),
    [
        ("filter", {"predicate": "price > 3"}, "UNKNOWN_COLUMN"),
        ("filter", {"predicate": "itemID > 3) OR (TRUE"}, "SYNTAX"),
        ("filter", {"predicate": "TRUE GROUP BY itemID"}, "SYNTAX"),
        ("filter", {"predicate": "TRUE -- and no more"}, "SYNTAX"),
        ("filter", {"predicate": "TRUE; DROP STREAM Bid"}, "SYNTAX"),
        ("filter", {"predicate": "'"}, "SYNTAX"),
        ("filter", {}, "MISSING"),
        ("map", {"columns": "itemID FROM Open [NOW]"}, "SYNTAX"),
        ("map", {"columns": "ISTREAM(itemID)"}, "SYNTAX"),
        ("stream", {"operator": "ISTREAM(SELECT 1) --"}, "SYNTAX"),
        ("window", {"window": "[RANGE 5 MINUTS]"}, "BAD_UNIT"),
        ("window", {"window": "[NOW] JOIN Open [NOW]"}, "SYNTAX"),
        ("first", {"limit": "-1 UNION SELECT 1"}, "SYNTAX"),
        ("sink", {"sink": "csv('out')"}, "MISSING"),
    ],
)
def test_a_mistake_is_told_at_its_operator(kind: str, properties: dict[str, str], condition: str) -> None:
    session = Session(master="none")
    session.execute(STREAMS)
    graph = graph_of(_graph(("a", "source", {"name": "Bid"}, []), ("b", kind, properties, ["a"])))
    found = check(graph, session.catalog)
    assert found["a"].errors == []
    assert [(e.condition, e.parameters["node"]) for e in found["b"].errors] == [(condition, "b")]


def test_what_operators_yield_is_told() -> None:
    session = Session(master="none")
    session.execute(STREAMS)
    graph = graph_of(
        _graph(
            ("s", "source", {"name": "Bid"}, []),
            ("w", "window", {"window": "[ROWS 3]"}, ["s"]),
            ("g", "group", {"keys": "itemID"}, ["w"]),
            ("d", "distinct", {}, ["g"]),
            ("a", "aggregate", {"columns": "itemID, COUNT(*) AS n"}, ["g"]),
            ("i", "stream", {"operator": "ISTREAM"}, ["a"]),
            ("j", "join", {}, ["i", None]),
        )
    )
    found = check(graph, session.catalog)
    assert [found[n].kind for n in "swgai"] == ["stream", "relation", "groups", "relation", "stream"]
    assert [e.condition for n in "dj" for e in found[n].errors] == ["GROUPS_WITHOUT_AGGREGATION", "NOT_CONNECTED"]


def test_every_edge_of_a_sample_has_its_rows() -> None:
    with served() as client:
        run(client, BIDS.split(";")[0] + "; CREATE STREAM Rated (value BIGINT, timestamp TIMESTAMP) SOURCE "
            "rate(rows => 40, rows_per_second => 10) ORDERED BY timestamp")  # fmt: skip
        graph = client.post("/api/builder/graph", json={"sql": "SELECT COUNT(*) AS n FROM Rated [ROWS 5]"}).json()
        sample = client.post("/api/builder/sample", json=graph)
        assert sample.status_code == 200, sample.text
        edges = {edge["id"]: edge for edge in sample.json()["edges"]}
        assert [(edges[n]["total"], edges[n]["rows"][-1]) for n in ("n2", "n3")] == [
            (5, {"value": 39}),
            (1, {"n": 5}),
        ]
        third = client.post("/api/builder/sample", json={**graph, "at": sample.json()["instants"][2]}).json()
        assert {edge["id"]: edge["total"] for edge in third["edges"]}["n2"] == 3


def test_who_has_no_right_to_a_stream_sees_nothing_of_it() -> None:
    with served(required=True) as client:
        tokens = service_of(client).tokens
        admin, some = (
            {"Authorization": f"Bearer {tokens.create(name, role, streams, queries)[0]}"}
            for name, role, streams, queries in (
                ("admin", Role.ADMIN, None, None),
                ("some", Role.READ, ("Open",), ("open*",)),
            )
        )
        sql = BIDS + "CREATE STREAM Open (item INT, ts BIGINT) ORDERED BY ts; REGISTER QUERY opened AS "
        sql += "SELECT item FROM Open [NOW]; CREATE VIEW seen AS SELECT * FROM Bid [NOW];"
        assert client.post("/api/statements", json={"sql": sql}, headers=admin).status_code == 200
        graphs = {
            name: _graph(("s", "source", {"name": name}, []), ("w", "window", {"window": "[NOW]"}, ["s"]))
            for name in ("Bid", "bid", "seen", "Open")
        }
        hidden = _graph(("q", "sql", {"sql": "SELECT * FROM (SELECT price FROM Bid [NOW])"}, []))
        asked: list[tuple[str, object]] = [
            (f"/api/builder/{what}", graph) for what in ("check", "sample") for graph in (*graphs.values(), hidden)
        ]
        asked += [("/api/builder/graph", {"sql": f"SELECT * FROM {name} [NOW]"}) for name in ("Bid", "Open")]
        asked += [("/api/builder/window", {"source": name, "window": "[NOW]"}) for name in ("Bid", "Open")]
        asked += [
            (f"/api/console/{what}", {"sql": f"SELECT * FROM {name} [NOW]"})
            for what in ("plans", "verify")
            for name in ("Bid", "Open")
        ]
        found = [client.post(path, json=body, headers=some).status_code for path, body in asked]
        assert found == [403, 403, 403, 200, 403, 403, 403, 403, 200, 403] + [403, 200] * 4
        for part in ("history", "windows", "plans"):
            assert client.get(f"/api/queries/top/{part}", headers=some).status_code == 403
        told = client.get("/api/console/progress", headers=some).json()["queries"]
        assert [q["name"] for q in told] == ["opened"]
        graph = client.get("/api/console/graph", headers=some).json()["operators"]
        assert {name for operator in graph for name in operator["queries"]} == {"opened"}
