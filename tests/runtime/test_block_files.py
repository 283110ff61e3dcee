"""Blocks in files: what is put there comes back, also when the file is gone."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from continua.physical.nodes import END, START, WEIGHT
from continua.runtime.executors.block_files import block_folder, in_files
from continua.runtime.machines import is_of_machine
from continua.runtime.row_blocks import Block, FileStretch


def rows(count: int, text: str = "x") -> pa.Table:
    numbers = list(range(count))
    columns = {"c0": numbers, "c1": [text * (n % 5) for n in numbers], START: numbers, END: [n + 1 for n in numbers]}
    return pa.table({**columns, WEIGHT: [1] * count})


def moved(block: Block) -> Block:
    """A block as another process has it."""
    return Block(*pickle.loads(pickle.dumps(block.plain)))


def test_large_blocks_are_left_in_one_file_and_are_there_when_it_is_removed(tmp_path: Path) -> None:
    tables = [rows(5_000), rows(7_001, "long text "), rows(9_999)]
    with block_folder(str(tmp_path)) as folder:
        blocks = [Block(1, n, "channel", n, table, n) for n, table in enumerate(tables)]
        found = [moved(block) for block in in_files(folder, blocks)]
        assert len(list(folder.path.iterdir())) == 1
        assert all(isinstance(block.content, FileStretch) for block in found)
        whole = [block.data for block in found]
        read = [block.table for block in found]
    assert not folder.path.exists()
    for table, again, data in zip(tables, read, whole, strict=True):
        assert again.equals(table)
        assert Block(1, 0, "channel", 0, data).table.equals(table)


def test_small_blocks_messages_and_blocks_of_other_machines_are_moved_themselves(tmp_path: Path) -> None:
    with block_folder(str(tmp_path)) as folder:
        small = [Block(1, 0, "channel", 0, rows(3)), Block(-1, 0, "report", 0, b"told" * 20_000)]
        assert not any(isinstance(block.content, FileStretch) for block in in_files(folder, small))
        assert not list(folder.path.iterdir())
    large = Block(1, 0, "channel", 0, rows(50_000))
    assert [block.content is large.content for block in in_files(None, [large])] == [True]


def test_a_folder_that_cannot_be_written_is_wrong_with_the_machine(tmp_path: Path) -> None:
    with block_folder(str(tmp_path)) as folder:
        folder.path.rmdir()
        folder.path.write_text("a file in its place")
        with pytest.raises(NotADirectoryError) as caught:
            list(in_files(folder, [Block(1, 0, "channel", 0, rows(50_000))]))
    assert is_of_machine(caught.value) and str(folder.path) in caught.value.filename
