import { useMemo } from "react";
import { wholeGraph } from "../console";
import { useLoaded, useTitle } from "../hooks";
import { Empty, Problems, Waiting } from "../parts/basics";
import { GraphView } from "../parts/GraphView";
import { plural } from "../pure/format";
import { drawPhysical } from "../pure/physical";

export function GraphPage() {
  useTitle("Graph");
  const found = useLoaded(wholeGraph, [], 2000);
  const drawing = useMemo(() => (found.value ? drawPhysical(found.value, true) : null), [found.value]);
  const shared = found.value?.operators.filter((o) => o.queries.length > 1).length ?? 0;
  return (
    <>
      <div className="head">
        <h1>Graph of all queries</h1>
        {found.value && <span className="muted">{plural(found.value.operators.length, "operator")}, {shared} shared</span>}
        <span className="grow" />
        <div className="legend">
          <span><i className="shared" /> works for several queries</span>
          <span><i className="holds" /> holds state</span>
          <span><i className="moves" /> rows move to another level</span>
        </div>
      </div>
      <div className="body fill">
        <section className="panel planned" style={{ gridTemplateRows: "minmax(0, 1fr)" }}>
          {found.problems.length > 0 ? <div style={{ padding: 12 }}><Problems of={found.problems} /></div> : !drawing ? <Waiting what="the graph" /> : drawing.nodes.length === 0 ? <Empty title="No query is live."><span>The graph shows what runs, and what queries share of it.</span></Empty> : <GraphView drawing={drawing} label="Graph of all queries" />}
        </section>
      </div>
    </>
  );
}
