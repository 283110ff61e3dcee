"""A proxy before a server of HTTP that has some requests fail, as networks and servers do."""

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAILURES = ("refused", "cut off", "answer lost")
"""A status of 503; nothing is passed on; all is passed on, and nobody learns of it."""


class Unreliable:
    """Passes requests on, but one in so many."""

    def __init__(
        self, port: int, one_in: int, seed: int, *, listen: str = "127.0.0.1", server: str = "127.0.0.1"
    ) -> None:
        """``listen``: its own address; ``server``: that of the machine with the server."""
        self.failed: Counter[str] = Counter()
        self.passed = 0
        self._rng = random.Random(seed)
        self._one_in = one_in
        proxy, host = self, server

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is said of requests."""

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                failure = proxy._chosen()
                if failure == "refused":
                    self.send_response(503)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if failure != "cut off":
                    answer, content = self._asked(body)
                if failure is not None:
                    self.close_connection = True
                    return
                self.send_response_only(answer.status, answer.reason)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection"):
                        self.send_header(name, value)
                if self.command != "HEAD" and answer.getheader("Content-Length") is None:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with suppress(BrokenPipeError):
                    self.wfile.write(content)

            def _asked(self, body: bytes) -> tuple[HTTPResponse, bytes]:
                """The request as it came: it is signed, with the name of the server that it was sent to."""
                behind = HTTPConnection(host, port, timeout=30)
                behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    behind.putheader(name, value)
                behind.endheaders(body)
                answer = behind.getresponse()
                content = answer.read()
                behind.close()
                return answer, content

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass_on  # noqa: N815 (as http.server calls them)

        self._server = ThreadingHTTPServer((listen, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.endpoint = f"http://{listen}:{self._server.server_address[1]}"

    def _chosen(self) -> str | None:
        """How a request fails, if it does."""
        if self._rng.randrange(self._one_in):
            self.passed += 1
            return None
        failure = self._rng.choice(FAILURES)
        self.failed[failure] += 1
        return failure

    def close(self) -> None:
        """Nobody is served any more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
