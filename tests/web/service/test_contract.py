"""The OpenAPI document against the server: whatever is asked by it, nothing fails inside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.web.service.conftest import BIDS, Serve

_EXAMPLES = 25


def test_no_request_that_the_document_allows_fails_inside(
    serve: Serve, token: Callable[..., str], tmp_path: Path
) -> None:
    secret = token("ada", "admin")
    server = serve("--require-token", token=secret)
    server.run(BIDS)
    server.ask("POST", "/api/streams/Bid/rows", [[1, 10, 5], [2, 20, 6]])
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--header"),
        *(f"Authorization: Bearer {secret}", "--checks", "not_a_server_error,content_type_conformance"),
        *("--max-examples", str(_EXAMPLES), "--phases", "examples,coverage,fuzzing", "--request-timeout", "20"),
        *("--exclude-path", "/api/queries/{name}/changes", "--generation-deterministic", "--no-color"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=900)
    assert found.returncode == 0, found.stdout[-6000:]
    assert server.ask("GET", "/health")[0] == 200
    assert not any("Traceback" in line for line in server.log)
