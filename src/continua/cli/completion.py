"""Completion in the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from continua.catalog import Catalog
from continua.explain.completing import candidates, word_before


class CatalogCompleter(Completer):
    """Completion for prompt_toolkit."""

    def __init__(self, catalog: Catalog, commands: Iterable[str], queries: Callable[[], Iterable[str]] = tuple) -> None:
        self._catalog = catalog
        self._commands = tuple(commands)
        self._queries = queries

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The candidates at the cursor."""
        del complete_event
        text = document.text_before_cursor
        length = len(word_before(text))
        for candidate in candidates(self._catalog, text, document.text_after_cursor, self._commands, self._queries()):
            yield Completion(candidate.text, start_position=-length, display_meta=candidate.kind)
