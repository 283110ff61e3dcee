"""A browser, and a server with bids, for all tests of the console."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.web.served import Served, serving

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 30_000
"""Milliseconds until a page that does not show something is wrong, also on a machine with much else to do."""
PICTURES = Path(__file__).parents[2] / "web" / "screenshots"

BIDS = """item_id,bidder_id,bid_price,ts
1,50,10.0,2024-05-01 10:00:00
2,51,20.0,2024-05-01 10:05:00
1,52,12.0,2024-05-01 10:09:00
3,53,12.0,2024-05-01 10:10:00
4,54,5.0,2024-05-01 10:30:00
"""
STREAM = """
CREATE STREAM Bid (item_id INT, bidder_id INT, bid_price DOUBLE, ts TIMESTAMP)
  SOURCE csv('bids.csv') ORDERED BY ts;
"""
HIGHEST = """SELECT item_id, bid_price FROM Bid [RANGE 10 MINUTES]
WHERE bid_price = (SELECT MAX(bid_price) FROM Bid [RANGE 10 MINUTES])"""


def with_bids(folder: Path) -> Path:
    """A folder with the rows of the stream of bids."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bids.csv").write_text(BIDS)
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the stream of bids, the highest bids over them, and a stream into which rows are inserted."""
    with serving(with_bids(tmp_path_factory.mktemp("bids"))) as found:
        found.run(
            f"""{STREAM}
            CREATE STREAM Click (page STRING, reader BIGINT, at INT) ORDERED BY at;
            REGISTER QUERY highest AS {HIGHEST};
            REGISTER QUERY counted GROUP counted STARTING AT EARLIEST AS
              SELECT COUNT(*) AS bids, MAX(bid_price) AS highest FROM Bid [RANGE 10 MINUTES];
            REGISTER QUERY pages GROUP clicks AS
              SELECT page, COUNT(*) AS clicks, MAX(reader) AS reader FROM Click [ROWS 100] GROUP BY page;
            REGISTER QUERY busy GROUP clicks AS
              SELECT page, COUNT(*) AS clicks FROM Click [ROWS 100] GROUP BY page HAVING COUNT(*) > 1;
            """
        )
        yield found


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """Chromium with a profile of its own."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=CHROMIUM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1280, "height": 800},
            accept_downloads=False,
        )
        context.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield context
        context.close()


class Watched:
    """What a page says that nobody should hear: errors, and requests to other hosts."""

    def __init__(self, page: Page, server: Served) -> None:
        self.wrong: list[str] = []
        self.expected: tuple[str, ...] = ()
        """Parts of what may be said."""
        self._host = urlsplit(server.url).netloc
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._requested)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _requested(self, request: Request) -> None:
        if urlsplit(request.url).netloc not in (self._host, "") and not request.url.startswith(("data:", "blob:")):
            self.wrong.append(f"request: {request.url}")

    def left(self) -> list[str]:
        """What was said and not expected."""
        return [w for w in self.wrong if not any(part in w for part in self.expected)]


@pytest.fixture
def watched(page: Page) -> Watched:
    """What the page of this test says."""
    found: Watched = page.watched
    return found


@pytest.fixture
def page(browser: BrowserContext, server: Served) -> Iterator[Page]:
    """A page that has said nothing wrong when its test ends."""
    found = browser.new_page()
    watched = Watched(found, server)
    found.watched = watched
    yield found
    found.close()
    assert watched.left() == []


def pictured(page: Page, name: str) -> None:
    """Pictures of a page in both themes, for people to look at."""
    PICTURES.mkdir(exist_ok=True)
    for theme in ("dark", "light"):
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.wait_for_timeout(350)
        page.screenshot(path=PICTURES / f"{name}-{theme}.png")


@pytest.fixture
def browser_page_of_its_own(browser: BrowserContext) -> Iterator[Page]:
    """A page for a server that a test starts itself."""
    found = browser.new_page()
    yield found
    found.close()
