"""Points in time that begin with a stream: what is moved of it."""

from __future__ import annotations

from continua.physical.placement import in_order, placement_of
from continua.physical.point_nodes import Earliest, Ticks
from continua.runs.plans import graph_of
from continua.session import Session


def test_of_a_stream_only_its_earliest_row_goes_to_the_points_of_a_slide() -> None:
    session = Session(master="none")
    session.execute(
        "CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;"
        "REGISTER QUERY q AS SELECT RSTREAM k FROM S WINDOW(RANGE 4 SLIDE 2);"
    )
    graph = graph_of(session.queries["q"], ())
    (ticks,) = (node for node in in_order([graph]) if isinstance(node, Ticks))
    assert isinstance(ticks.inputs[0], Earliest)
    assert placement_of([graph]).places[ticks.inputs[0].id].level == 0
