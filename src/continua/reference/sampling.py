"""Which rows a sample has: by a hash of the seed, the source partition and the offset of each row."""

from __future__ import annotations

from continua.algebra.leaves import Sample

_WORD = (1 << 64) - 1


def is_sampled(sample: Sample, origin: int, offset: int) -> bool:
    """Whether a sample has the row that stands at an offset of a source partition."""
    return _mixed(_mixed(_mixed(sample.seed) ^ (origin & _WORD)) ^ (offset & _WORD)) < sample.below


def _mixed(word: int) -> int:
    """A word of 64 bits with its bits well mixed (SplitMix64)."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)
