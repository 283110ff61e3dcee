"""Commands in terminals, as people use them."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path
from typing import IO

from tests.cli.following import COMMAND, PATIENCE


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str, out: IO[bytes] | None = None) -> None:
        """``out``: where standard output goes, if not to the terminal."""
        self._screen, inside = pty.openpty()
        os.set_blocking(self._screen, False)
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            stdin=inside,
            stdout=inside if out is None else out,
            stderr=inside,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", "NO_COLOR": "1"},
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(inside)
        self._raw = ""

    @property
    def text(self) -> str:
        """All that was written, without what moves the cursor and colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._raw)

    def send(self, text: str) -> None:
        """Types something."""
        os.write(self._screen, text.encode())

    def wait_for(self, pattern: str, since: int = 0) -> int:
        """Waits until something is on the screen that has come since; where it ends."""
        end = time.monotonic() + PATIENCE
        while (found := re.compile(pattern).search(self.text, since)) is None:
            assert time.monotonic() < end, self.text
            assert self.process.poll() is None, self.text
            if select.select([self._screen], [], [], 0.2)[0]:
                more = os.read(self._screen, 1 << 16).decode(errors="replace")
                self._raw += more
                if "\x1b[6n" in more:
                    self.send("\x1b[1;1R")  # where the cursor is, which prompts ask for
        return found.end()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self, typed: str = "\x04") -> int:
        """Types Ctrl-D, and waits for the end; the exit status."""
        if typed:
            self.send(typed)
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            if select.select([self._screen], [], [], 0.05)[0]:
                try:
                    self._raw += os.read(self._screen, 1 << 16).decode(errors="replace")
                except OSError:
                    break
        os.close(self._screen)
        return self.process.wait(PATIENCE)


def _own_terminal() -> None:
    """Makes standard input the terminal that Ctrl-C is typed at."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
