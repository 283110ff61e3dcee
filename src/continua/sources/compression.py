"""Compressed files, by the ending of their names, and files that can be read only once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from continua.sources.stored_files import name_of, opened

ENDINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}


def codec_of(name: str) -> str | None:
    """How a file of a name is compressed."""
    return ENDINGS.get(Path(name).suffix.casefold())


def plain_name(name: str) -> str:
    """The name without the ending that tells of compression."""
    return name[: -len(Path(name).suffix)] if codec_of(name) else name


def decompressed(path: str) -> bytes:
    """All of a file's content; of a pipe, all that comes."""
    codec = codec_of(name_of(path))
    if codec is None:
        return Path(path).read_bytes()
    with opened(path) as file, pa.input_stream(file, compression=codec) as stream:
        content: bytes = stream.read()
    return content
