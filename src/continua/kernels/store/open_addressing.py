"""Open addressing with linear probing: tables of numbers plus one, found by their hashes; 0 is an empty place."""

from __future__ import annotations

from continua.kernels.jit import Int64s, compiled


@compiled
def put_in(entries: Int64s, hashes: Int64s, table: Int64s) -> None:
    """Puts entries, none of which is there, into a table that has room for them."""
    mask = table.size - 1
    for entry in entries:
        p = hashes[entry - 1] & mask
        while table[p] != 0:
            p = (p + 1) & mask
        table[p] = entry


@compiled
def take_out(number: int, hashes: Int64s, table: Int64s) -> None:
    """Takes a number out of a table; the entries behind it move back over the gap."""
    mask = table.size - 1
    gap = hashes[number] & mask
    while table[gap] != number + 1:
        gap = (gap + 1) & mask
    p = (gap + 1) & mask
    while table[p] != 0:
        home = hashes[table[p] - 1] & mask
        if ((p - home) & mask) >= ((p - gap) & mask):
            table[gap] = table[p]
            gap = p
        p = (p + 1) & mask
    table[gap] = 0
