"""The pages of the console, where they were built."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

CONSOLE = Path(__file__).with_name("console")
"""Where the build puts them."""
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "style-src-attr 'unsafe-inline'",  # browsers make such attributes themselves where text is edited
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""Nothing but what the server itself gives: no inline scripts or sheets of styles, nothing from other hosts."""
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Continua</title></head>
<body><h1>Continua</h1>
<p>This server is at work. Its console was not built: <code>make web</code> does that.</p>
<p><a href="/openapi.json">/openapi.json</a> tells what can be asked.</p></body></html>
"""


def pages() -> list[BaseRoute]:
    """The routes of the console: every path that is no file is a place in it."""
    if not (CONSOLE / "index.html").is_file():
        return [Route("/", _not_built)]
    found: list[BaseRoute] = [Mount("/assets", StaticFiles(directory=CONSOLE / "assets", check_dir=False))]
    return [*found, Route("/{place:path}", _page)]


async def _not_built(_: Request) -> Response:
    return HTMLResponse(_NOT_BUILT, headers=HEADERS)


async def _page(request: Request) -> Response:
    place = request.path_params["place"]
    if place.startswith("api/"):
        return Response(status_code=404)
    return FileResponse(CONSOLE / "index.html", headers=HEADERS)
