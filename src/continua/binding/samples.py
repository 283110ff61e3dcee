"""Samples of streams: SAMPLE behind a window."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.leaves import Sample, Source
from continua.binding.context import Context
from continua.catalog import StreamInfo
from continua.lang.statements import SampleSyntax, WindowSyntax

SEED = 0
"""The seed of samples that name none."""
_FRAMES = ("spark", "table")


def sampled(context: Context, node: exp.Expr, stream: Plan, name: str, syntax: SampleSyntax) -> Plan:
    """A stream with the rows that a sample has."""
    if not isinstance(stream, Source):
        context.fail(
            "SAMPLE_OF_QUERY",
            f"{name} is no stream with a source: what queries yield has no offsets to sample by",
            syntax.span,
            "sample the streams that it reads",
            stream=name,
        )
    info = context.table(stream.name)
    if isinstance(info, StreamInfo) and _has_no_offsets(info):
        context.fail(
            "NO_OFFSETS",
            f"{name} is read by Spark, whose rows have no offsets to sample by",
            syntax.span,
            "declare it with PARTITIONED BY column OFFSET column",
            stream=name,
        )
    if syntax.seed is None:
        window: WindowSyntax = node.args["window"]
        text = f"{window.text[:-1]} REPEATABLE ({SEED}){window.text[-1]}"
        node.set("window", replace(window, text=text))
        place = context.positions.of(node)
        context.notice(
            "DEFAULT_SEED", f"a sample without REPEATABLE: its seed is {SEED}", place, stream=name, seed=SEED
        )
    return replace(stream, sample=Sample(syntax.percent, SEED if syntax.seed is None else syntax.seed))


def _has_no_offsets(info: StreamInfo) -> bool:
    by_spark = info.source is not None and info.source.function.text.lower() in _FRAMES
    return by_spark and (info.partitions is None or info.partitions.offset is None)
