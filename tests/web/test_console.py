"""The console in a real browser, against a real server."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import HIGHEST, STREAM, Watched, pictured, with_bids
from tests.web.served import COMMAND, Served, serving

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def rows_of(table: Locator) -> list[list[str]]:
    """The cells of a table of rows, without the marks of changes."""
    found: list[list[list[str]]] = table.evaluate_all(
        "tables => tables.map(t => [...t.querySelectorAll('tbody tr:not(.went)')].map("
        "row => [...row.children].slice(1, -1).map(cell => cell.textContent)))"
    )
    return found[0] if found else []


def answer(page: Page) -> Locator:
    """The table of the answer."""
    return page.get_by_role("region", name="Answer").locator("table")


def by_reference(folder: Path, sql: str, at: str) -> list[list[str]]:
    """What the reference says that a query holds at an instant."""
    (folder / "asked.sql").write_text(f"{STREAM}\n{sql};")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "run", "asked.sql", "--engine", "reference", "--at", at, "--format", "csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [row[2:] for row in csv.reader(io.StringIO(done.stdout))][1:]


# Queries.


def test_queries_are_listed_with_how_they_do(page: Page, server: Served) -> None:
    page.goto(server.url)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="highest", exact=True))
    expect(row).to_contain_text("live")
    expect(row).to_contain_text("2024-05-01 10:29:59")
    expect(row.get_by_role("img", name=re.compile("^State of highest"))).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="connected")).to_be_visible()
    pictured(page, "queries")


def test_a_query_is_stopped_and_started(page: Page, server: Served, watched: Watched) -> None:
    watched.expected = ("409",)  # the page asked once more when the query had just been stopped
    server.run("REGISTER QUERY halted GROUP halted AS SELECT COUNT(*) AS n FROM Click [NOW]")
    page.goto(server.url)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="halted", exact=True))
    row.get_by_role("button", name="Stop").click()
    expect(row).to_contain_text("stopped")
    assert server.ask("GET", "/api/queries/halted")["state"] == "stopped"
    page.get_by_role("link", name="halted", exact=True).click()
    expect(page.get_by_text("This query is stopped.")).to_be_visible()
    pictured(page, "stopped")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".head .state")).to_have_text("live")
    page.get_by_role("link", name="Queries").first.click()
    row.get_by_role("button", name="Drop").click()
    row.get_by_role("button", name="Drop it and its answers").click()
    expect(row).to_have_count(0)


def test_the_answer_changes_as_rows_come_and_what_changed_stands_out(
    page: Page, server: Served, watched: Watched
) -> None:
    watched.expected = ("409",)  # until the first rows are worked on nothing is closed
    server.run("INSERT INTO Click VALUES ('home', 9007199254740993, 1), ('about', 5, 2), ('home', 1, 3)")
    page.goto(f"{server.url}/#/queries/pages")
    expect(answer(page).locator("tbody tr")).to_have_count(2)
    assert sorted(rows_of(answer(page))) == [["about", "1", "5"], ["home", "1", "9007199254740993"]]
    server.run("INSERT INTO Click VALUES ('about', 6, 4), ('late', 1, 5)")
    expect(answer(page).locator("tr.came")).to_have_count(2)
    assert "home" in answer(page).locator("tr.came").all_text_contents()[0] + answer(page).inner_text()
    expect(page.get_by_role("region", name="Latest changes")).to_contain_text("home")
    pictured(page, "answer-live")


# The slider.


@pytest.mark.parametrize("at", ["2024-05-01T10:04:00Z", "2024-05-01T10:16:40.5Z", "2024-05-01T10:25:00Z"])
def test_at_an_instant_the_table_is_what_the_reference_says(
    page: Page, server: Served, tmp_path: Path, at: str
) -> None:
    page.goto(f"{server.url}/#/queries/highest?at={at}")
    expect(page.get_by_label("Instant", exact=True).first).to_have_value(at)
    theirs = by_reference(with_bids(tmp_path), HIGHEST, at)
    panel = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Answer"))
    expect(panel).to_contain_text(f"{len(theirs)} row")
    assert [[a, float(b)] for a, b in rows_of(answer(page))] == [[a, float(b)] for a, b in theirs]


def test_the_slider_moves_through_the_instants(page: Page, server: Served, tmp_path: Path) -> None:
    page.goto(f"{server.url}/#/queries/highest")
    slider = page.get_by_role("slider", name="Instant")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.54, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"at=2024-05-01T10%3A16"))
    at = re.sub("%3A", ":", page.url.split("at=")[1])
    expect(answer(page).locator("tbody tr")).to_have_count(2)
    mine = [[a, float(b)] for a, b in rows_of(answer(page))]
    assert mine == [[a, float(b)] for a, b in by_reference(with_bids(tmp_path), HIGHEST, at)]
    page.get_by_role("button", name="Previous change").click()
    expect(page.get_by_label("Instant", exact=True).first).to_have_value("2024-05-01T10:15:00.000001Z")
    page.get_by_role("button", name="Next change").click()
    page.get_by_role("button", name="Next change").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Instant", exact=True).first).to_have_value("2024-05-01T10:20:00.000001Z")
    expect(page.get_by_text("0 rows at")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Instant", exact=True).first).to_have_value("2024-05-01T10:20:00.000001Z")
    page.get_by_role("button", name="Live").click()
    expect(page.get_by_role("heading", name="Now")).to_be_visible()


def test_windows_are_looked_into_at_an_instant(page: Page, server: Served, watched: Watched) -> None:
    watched.expected = ("409",)  # until the first rows are worked on nothing is closed
    page.goto(f"{server.url}/#/queries/highest?at=2024-05-01T10:16:00Z")
    page.get_by_role("tab", name="Windows").click()
    window = page.get_by_role("region", name="Window of Bid")
    expect(window.locator("tbody tr")).to_have_count(2)
    assert [row[:3] for row in rows_of(window.locator("table"))] == [["1", "52", "12"], ["3", "53", "12"]]
    pictured(page, "answer-at-an-instant")
    server.run(
        "CREATE STREAM Press (page STRING, at INT) ORDERED BY at;"
        "REGISTER QUERY pressed GROUP pressed AS SELECT COUNT(*) AS n FROM Press [ROWS 3]"
    )
    server.run("INSERT INTO Press VALUES ('home', 101), ('home', 102)")
    page.goto(f"{server.url}/#/queries/pressed")
    expect(answer(page).locator("tbody tr")).not_to_have_count(0)
    page.get_by_role("tab", name="Windows").click()
    expect(page.get_by_text("are inserted and not kept")).to_be_visible()


def test_what_is_no_instant_or_not_closed_is_told(page: Page, server: Served, watched: Watched) -> None:
    watched.expected = ("409",)
    page.goto(f"{server.url}/#/queries/highest?at=yesterday")
    expect(page.get_by_text("yesterday is no instant of this query.")).to_be_visible()
    page.goto(f"{server.url}/#/queries/highest?at=2034-05-01T10:00:00Z")
    expect(page.get_by_text("is not closed yet")).to_be_visible()
    page.goto(f"{server.url}/#/nowhere")
    expect(page.get_by_text("There is no such page.")).to_be_visible()


# Plans.


def test_the_rewrites_are_stepped_through_each_with_its_law(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/queries/highest/plan")
    expect(page.locator(".box .title").first).to_be_visible()
    pictured(page, "plan-logical")
    page.get_by_role("link", name=re.compile("^Rewritten")).click()
    steps = server.ask("GET", "/api/queries/highest/plans")["rewrites"]["steps"]
    assert len(steps) >= 2
    for number, step in enumerate(steps):
        expect(page.locator(".pair strong")).to_have_text(step["rule"])
        expect(page.locator(".pair")).to_contain_text(step["law"])
        expect(page.get_by_role("list", name=f"Before {step['rule']}")).to_be_attached()
        expect(page.get_by_role("list", name=f"After {step['rule']}")).to_be_attached()
        if number == 0:
            expect(page.locator(".mark-after").first).to_be_visible()
            pictured(page, "plan-rewritten")
        page.get_by_role("button", name="Next step").click()
    expect(page.get_by_role("list", name="The plan that is run")).to_be_attached()
    expect(page.get_by_role("button", name="Next step")).to_be_disabled()


def test_the_physical_plan_has_levels_and_what_operators_hold(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/queries/highest/plan?stage=physical")
    expect(page.locator(".box").filter(has_text="Semijoin")).to_contain_text("level 2")
    expect(page.locator(".box").filter(has_text="Aggregate MAX")).to_contain_text("holds 1 row")
    expect(page.locator(".react-flow__edge.dashed").first).to_be_attached()
    pictured(page, "plan-physical")


def test_the_graph_shows_what_queries_share(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/graph")
    shared = page.locator(".mark-shared")
    expect(shared.filter(has_text="pages").first).to_contain_text("busy")
    pictured(page, "graph")


# The editor.


def typed(page: Page, text: str) -> None:
    """Text in the editor in place of what was there."""
    page.get_by_role("textbox", name="Statements").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_wrong_query_is_underlined_as_it_is_typed(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/editor")
    typed(page, "SELECT itm_id FROM Bid [RANGE 1 HOUR]")
    wrong = page.locator(".cm-lintRange-error")
    expect(wrong).to_have_text("itm_id")
    expect(page.get_by_role("alert")).to_contain_text("there is no column itm_id")
    expect(page.get_by_role("alert")).to_contain_text("did you mean item_id?")
    pictured(page, "editor-wrong")
    typed(page, "SELECT item_id FROM Bid [RANGE 1 HOUR]")
    expect(wrong).to_have_count(0)
    expect(page.get_by_text("nothing is wrong with it")).to_be_visible()
    expect(page.get_by_role("list", name="Logical plan")).to_contain_text("Window")


def test_names_are_completed(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/editor")
    typed(page, "SELECT b. FROM Bid [NOW] AS b")
    for _ in range(len(" FROM Bid [NOW] AS b")):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    options = page.locator(".cm-tooltip-autocomplete li")
    expect(options.first).to_be_visible()
    offered = {re.split(r"(?=[A-Z]{3})", text)[0] for text in options.all_text_contents()}
    assert {"item_id", "bidder_id", "bid_price"} <= offered
    page.keyboard.press("Escape")


def test_verify_compares_the_engine_with_the_reference(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/editor")
    typed(page, HIGHEST)
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Engine and reference agree.")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("tabpanel")).to_contain_text("5 rows of the sources")
    pictured(page, "editor")


def test_statements_are_run(page: Page, server: Served, watched: Watched) -> None:
    watched.expected = ("400", "404")
    page.goto(f"{server.url}/#/editor")
    typed(page, "REGISTER QUERY seen AS SELECT item_id FROM Bid [NOW]; SHOW STREAMS;")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("tabpanel")).to_contain_text("Query seen is live.")
    expect(page.get_by_role("tabpanel").get_by_role("cell", name="Click", exact=True)).to_be_visible()
    server.run("DROP QUERY seen")
    typed(page, "DROP QUERY seen;")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("there is no query seen")


# The builder.


def add(page: Page, operator: str) -> None:
    """An operator comes to the canvas; it reads the one that is chosen."""
    page.get_by_role("region", name="Operators").get_by_role("button", name=operator, exact=True).click()


def choose(page: Page, number: int) -> None:
    """An operator is chosen on the canvas."""
    page.locator(f'.react-flow__node[data-id="n{number}"] .title').click()


def test_P20_the_highest_bid_plan_of_the_papers_is_built_and_run_and_its_answer_read(
    browser_page_of_its_own: Page, tmp_path: Path
) -> None:
    with serving(with_bids(tmp_path)) as server:
        server.run(STREAM)
        _build_the_highest_bid(browser_page_of_its_own, server)
        _read_the_highest_bid(browser_page_of_its_own, server)


def _build_the_highest_bid(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    add(page, "Source")
    page.get_by_label("Stream, relation or view").select_option("Bid")
    add(page, "Window")
    page.get_by_label("As text").fill("[RANGE 10 MINUTES]")
    expect(page.get_by_role("img", name=re.compile("over time"))).to_be_visible()
    pictured(page, "builder-window")
    add(page, "Aggregation")
    page.get_by_label("Columns", exact=True).fill("MAX(bid_price) AS highest")
    choose(page, 2)
    add(page, "Join")
    page.get_by_label("Kind").select_option("LEFT SEMI")
    page.get_by_label("Right input").select_option("n3")
    page.get_by_label("called").nth(0).fill("b")
    page.get_by_label("called").nth(1).fill("h")
    page.get_by_label("On", exact=True).fill("b.bid_price = h.highest")
    add(page, "Map")
    page.get_by_label("Columns", exact=True).fill("b.item_id, b.bid_price")
    add(page, "Sink")
    page.get_by_label("Name", exact=True).fill("built")
    expect(page.get_by_text("nothing is wrong with it")).to_be_visible()
    page.get_by_role("button", name="Tidy up").click()

    # what each edge carries of a sample
    page.get_by_role("button", name="Run on a sample").click()
    expect(page.locator('.react-flow__node[data-id="n1"] .count')).to_have_text("5 rows")
    page.get_by_role("tab", name="Rows").click()
    page.get_by_role("slider").fill("3")
    expect(page.locator('.react-flow__node[data-id="n2"] .count')).to_have_text("4 rows")
    expect(page.locator('.react-flow__node[data-id="n3"] .count')).to_have_text("1 row")
    expect(page.locator('.react-flow__node[data-id="n5"] .count')).to_have_text("1 row")
    assert rows_of(page.get_by_role("region", name=re.compile("^Rows of")).locator("table")) == [["2", "20"]]
    pictured(page, "builder-sample")


def _read_the_highest_bid(page: Page, server: Served) -> None:
    page.get_by_role("button", name="Register").click()
    page.get_by_role("status").get_by_role("link", name="built").click()
    expect(page.locator(".head .state")).to_have_text("live")
    expect(page.get_by_role("region", name="Latest changes").locator("tr")).to_have_count(8)
    for at in ("2024-05-01T10:04:00Z", "2024-05-01T10:16:00Z", "2024-05-01T10:25:00Z"):
        theirs = by_reference(server.folder, HIGHEST, at)
        page.goto(f"{server.url}/#/queries/built?at={at}")
        panel = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Answer"))
        expect(panel).to_contain_text(f"{len(theirs)} row")
        expect(panel).to_contain_text(at)
        mine = rows_of(answer(page))
        assert sorted([a, float(b)] for a, b in mine) == sorted([a, float(b)] for a, b in theirs)


def test_a_query_that_is_pasted_becomes_a_drawing_and_the_same_query_again(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    page.get_by_role("tab", name="SQL").click()
    text = (
        "SELECT item_id, COUNT(*) AS bids FROM Bid [RANGE 1 HOUR SLIDE 5 MINUTES] WHERE bid_price > 3\n"
        "GROUP BY item_id HAVING COUNT(*) > 1 ORDER BY bids DESC LIMIT 3"
    )
    page.get_by_label("The query as text").fill(text)
    page.get_by_role("button", name="Draw it").click()
    titles = page.locator(".op .title")
    expect(titles).to_have_count(8)
    assert sorted(titles.all_text_contents()) == sorted(
        ["Source", "Window", "Filter", "Group", "Filter", "Aggregation", "First rows", "Sink"]
    )
    expect(page.get_by_text("nothing is wrong with it")).to_be_visible()
    expect(page.get_by_label("The query as text")).to_have_value(re.compile("HAVING COUNT"))
    again = page.get_by_label("The query as text").input_value()
    plans = [server.ask("POST", "/api/console/plans", {"sql": sql})["logical"] for sql in (text, again)]
    assert plans[0] == plans[1]
    pictured(page, "builder-sql")


def test_operators_are_connected_by_dragging_where_that_makes_sense(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    for operator in ("Source", "Group", "Map"):
        page.locator(".react-flow__pane").click(position={"x": 5, "y": 5})
        add(page, operator)

    def drag(source: int, target: int) -> None:
        page.wait_for_timeout(500)  # until what was laid out again has come to its place
        begin = page.locator(f'[data-id="n{source}"] .react-flow__handle-bottom').bounding_box()
        end = page.locator(f'[data-id="n{target}"] [data-handleid="in-0"]').bounding_box()
        assert begin is not None
        assert end is not None
        page.mouse.move(begin["x"] + begin["width"] / 2, begin["y"] + begin["height"] / 2)
        page.mouse.down()
        page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=8)
        page.mouse.up()

    drag(1, 2)
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    drag(2, 3)  # groups are no rows yet
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    drag(1, 3)
    expect(page.locator(".react-flow__edge")).to_have_count(2)


def test_what_has_no_operator_is_one_operator_of_sql(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    page.get_by_role("tab", name="SQL").click()
    page.get_by_label("The query as text").fill("SELECT x + 1 AS y FROM (VALUES (1), (2)) AS t(x)")
    page.get_by_role("button", name="Draw it").click()
    expect(page.locator(".op .title")).to_have_text(["SQL", "Sink"])


def test_mistakes_stand_at_their_operators(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    add(page, "Source")
    page.get_by_label("Stream, relation or view").select_option("Bid")
    add(page, "Filter")
    page.get_by_label("Condition").fill("price > 3")
    expect(page.locator('.react-flow__node[data-id="n2"] .wrong')).to_have_text("there is no column price")
    expect(page.locator('.react-flow__node[data-id="n1"] .wrong')).to_have_count(0)
    expect(page.get_by_role("button", name="Register")).to_be_disabled()
    pictured(page, "builder-wrong")
    page.get_by_label("Condition").fill("bid_price > 3 GROUP BY item_id")
    expect(page.locator('.react-flow__node[data-id="n2"] .wrong')).to_contain_text("more than")
    page.get_by_label("Condition").fill("bid_price > 3")
    expect(page.locator(".wrong")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".op")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".op")).to_have_count(2)


def test_a_plan_is_built_by_the_keyboard_alone(page: Page, server: Served) -> None:
    page.goto(f"{server.url}/#/builder")
    for operator in ("Source", "Window"):
        page.get_by_role("region", name="Operators").get_by_role("button", name=operator, exact=True).focus()
        page.keyboard.press("Enter")
        if operator == "Source":
            page.get_by_label("Stream, relation or view").focus()
            page.keyboard.type("Bid")
    expect(page.locator(".op .title")).to_have_text(["Source", "Window"])
    page.locator('.react-flow__node[data-id="n2"]').focus()
    page.keyboard.press("Delete")
    expect(page.locator(".op")).to_have_count(1)


# Every page.

PAGES = {
    "queries": "#/",
    "answer": "#/queries/highest?at=2024-05-01T10:16:00Z",
    "logical plan": "#/queries/highest/plan",
    "rewritten plan": "#/queries/highest/plan?stage=rewrites",
    "physical plan": "#/queries/highest/plan?stage=physical",
    "text": "#/queries/highest/text",
    "graph": "#/graph",
    "builder": "#/builder?query=highest",
    "editor": "#/editor?query=highest",
}


@pytest.mark.parametrize("place", PAGES.values(), ids=PAGES.keys())
def test_axe_finds_nothing_serious(page: Page, server: Served, place: str) -> None:
    page.goto(f"{server.url}/{place}")
    expect(page.get_by_text("Loading")).to_have_count(0)
    page.wait_for_timeout(600)
    page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.wait_for_timeout(300)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            (v["id"], [node["html"][:160] for node in v["nodes"]][:3], v["nodes"][0]["failureSummary"])
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == [], theme


@pytest.mark.parametrize("place", PAGES.values(), ids=PAGES.keys())
def test_no_page_is_wider_than_1280_pixels(page: Page, server: Served, place: str) -> None:
    page.goto(f"{server.url}/{place}")
    expect(page.get_by_text("Loading")).to_have_count(0)
    wide = "[...document.querySelectorAll('.page, .head, .body')].every(e => e.scrollWidth <= e.clientWidth + 1)"
    assert page.evaluate(wide)


def test_the_policy_allows_no_scripts_but_those_of_the_server(page: Page, server: Served) -> None:
    answered = page.goto(server.url)
    assert answered is not None
    policy = answered.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert [part for part in policy.split("; ") if "unsafe" in part] == ["style-src-attr 'unsafe-inline'"]


def test_a_server_that_has_gone_is_told(browser_page_of_its_own: Page, tmp_path: Path) -> None:
    page = browser_page_of_its_own
    with serving(with_bids(tmp_path)) as short:
        page.goto(short.url)
        expect(page.get_by_text("No query is registered.")).to_be_visible()
        pictured(page, "queries-empty")
    expect(page.get_by_text("no connection")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("the server does not answer").first).to_be_visible()
    pictured(page, "queries-no-connection")


def test_where_a_token_is_needed_the_console_asks_for_it(browser_page_of_its_own: Page, tmp_path: Path) -> None:
    page = browser_page_of_its_own
    asked = [sys.executable, "-c", COMMAND, "token", "--state", "state", "--role", "read", "reader"]
    made = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    with serving(tmp_path, "serve", "--master", "none", "--state", "state", "--require-token") as closed:
        page.goto(closed.url)
        expect(page.get_by_role("heading", name="This server asks for a token")).to_be_visible()
        pictured(page, "token")
        page.get_by_label("Token").fill("guessed")
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("heading", name="This server asks for a token")).to_be_visible()
        page.get_by_label("Token").fill(made.stdout.strip())
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_text("No query is registered.")).to_be_visible()
        page.goto(f"{closed.url}/#/editor")
        typed(page, "CREATE STREAM Other (a INT)")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("this needs write")


def test_the_demo_opens_on_live_queries(browser_page_of_its_own: Page, tmp_path: Path) -> None:
    page = browser_page_of_its_own
    with serving(tmp_path, "demo", "--web", "--master", "none", "--rate", "500") as demo:
        page.goto(demo.url)
        for name in ("bids_of_a_second", "hot_items", "highest_bid", "busy_newcomers", "nearby"):
            row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
            expect(row).to_contain_text("live")
        rate = page.get_by_role("img", name=re.compile("^Rows in of hot_items: [1-9]"))
        expect(rate).to_be_visible(timeout=60_000)
        page.goto(f"{demo.url}/#/queries/bids_of_a_second")
        expect(answer(page).locator("tr.came")).to_have_count(1, timeout=30_000)
        expect(page.get_by_role("img", name=re.compile("highest.*over time")).first).to_be_visible()
        pictured(page, "demo-answer")
        # the rows of its window are made again: as many as the query has counted
        until = demo.ask("GET", "/api/queries/bids_of_a_second")["until"]
        at = f"{until[:19]}Z"
        counted = demo.ask("GET", f"/api/queries/bids_of_a_second/snapshot?at={at}")["rows"][0]["bids"]
        (window,) = demo.ask("GET", f"/api/queries/bids_of_a_second/windows?at={at}")["windows"]
        assert (window["why"], window["total"]) == (None, counted)
        assert counted > 100
        page.goto(f"{demo.url}/#/queries/hot_items/plan?stage=physical")
        expect(page.locator(".react-flow__edge-text").filter(has_text="rows/s").first).to_be_visible(timeout=30_000)
        pictured(page, "demo-physical")
        page.goto(f"{demo.url}/#/graph")
        expect(page.locator(".mark-shared").first).to_be_visible(timeout=30_000)
        pictured(page, "demo-graph")
        page.goto(f"{demo.url}/#/")
        expect(rate).to_be_visible()
        pictured(page, "demo-queries")


def test_on_spark_the_answer_at_an_instant_is_the_same(browser_page_of_its_own: Page, tmp_path: Path) -> None:
    page = browser_page_of_its_own
    with serving(with_bids(tmp_path), "serve", "--data", ".", "--master", "local[2]") as spark:
        spark.run(f"{STREAM} REGISTER QUERY highest AS {HIGHEST};")
        at = "2024-05-01T10:16:00Z"
        page.goto(f"{spark.url}/#/queries/highest")
        expect(page.get_by_role("region", name="Latest changes").locator("tr")).to_have_count(8, timeout=90_000)
        page.goto(f"{spark.url}/#/queries/highest?at={at}")
        expect(answer(page).locator("tbody tr")).to_have_count(2)
        theirs = by_reference(tmp_path, HIGHEST, at)
        assert [[a, float(b)] for a, b in rows_of(answer(page))] == [[a, float(b)] for a, b in theirs]
