import { Background, Controls, Handle, MarkerType, Position, ReactFlow, useReactFlow, type Connection, type Edge, type Node, type NodeChange, type NodeProps } from "@xyflow/react";
import { useEffect, useMemo } from "react";
import type { Problem } from "../api";
import { canConnect, connected, KINDS, linesOf, moved, type Kind, type Plan, type PlanNode } from "../pure/builder";

export interface Told {
  kind: string;
  errors: Problem[];
}

type OpNode = Node<{ node: PlanNode; told: Told | null; rows: number | null } & Record<string, unknown>, "op">;

function Operator({ data, selected }: NodeProps<OpNode>) {
  const { node, told, rows } = data;
  const wrong = (told?.errors.length ?? 0) > 0;
  const kind = told?.kind || "unknown";
  return (
    <div className={`box op kind-${kind.replace(/\s/g, "-")} ${wrong ? "mark-error" : ""} ${selected ? "selected" : ""}`}>
      {node.inputs.map((input, port) => (
        <Handle key={port} id={`in-${port}`} type="target" position={Position.Top} className={input ? "" : "open"} style={{ left: `${((port + 1) * 100) / (node.inputs.length + 1)}%` }} title={`${node.inputs.length > 1 ? (port ? "right input" : "left input") : "input"}: ${takes(node.kind)}`} />
      ))}
      <div className="row" style={{ gap: 6 }}>
        <span className="title grow">{KINDS[node.kind].title}</span>
        <span className="ident">{node.id}</span>
      </div>
      {linesOf(node).map((line, index) => <div className="line" key={index}>{line}</div>)}
      {wrong && <div className="wrong">{told!.errors[0]!.message}</div>}
      <div className="row foot-line">
        {told?.kind && <span className="kind">{told.kind}</span>}
        <span className="grow" />
        {rows !== null && <span className="count">{rows.toLocaleString("en-US")} {rows === 1 ? "row" : "rows"}</span>}
      </div>
      {node.kind !== "sink" && <Handle id="out" type="source" position={Position.Bottom} title={told?.kind ? `yields a ${told.kind}` : "output"} />}
    </div>
  );
}

/** What the input of an operator takes; a stream without a window counts as the relation of all its elements. */
function takes(kind: Kind): string {
  if (kind === "window") return "a stream";
  if (kind === "filter" || kind === "aggregate") return "a relation or groups";
  return kind === "sink" ? "a stream or a relation" : "a relation";
}

const TYPES = { op: Operator };

export function BuilderCanvas({ plan, told, rows, selected, onSelect, onChange, onRemove, fit }: {
  plan: Plan;
  told: Map<string, Told>;
  rows: Map<string, number>;
  selected: string | null;
  onSelect: (id: string | null) => void;
  onChange: (plan: Plan) => void;
  onRemove: (id: string) => void;
  fit: number;
}) {
  const flow = useReactFlow();
  useEffect(() => {
    const timer = window.setTimeout(() => void flow.fitView({ padding: 0.12, maxZoom: 1, minZoom: 0.4 }), 60);
    return () => window.clearTimeout(timer);
  }, [fit, flow]);
  const nodes: OpNode[] = useMemo(
    () => plan.nodes.map((node) => ({
      id: node.id,
      type: "op" as const,
      position: { x: node.x, y: node.y },
      selected: node.id === selected,
      ariaLabel: `${KINDS[node.kind].title} ${node.id}: ${linesOf(node).join(", ")}`,
      data: { node, told: told.get(node.id) ?? null, rows: rows.get(node.id) ?? null },
    })),
    [plan, told, rows, selected],
  );
  const edges: Edge[] = useMemo(
    () => plan.nodes.flatMap((node) => node.inputs.flatMap((input, port) => {
      if (!input) return [];
      const count = rows.get(input.node);
      const label = [input.alias, count === undefined ? "" : `${count.toLocaleString("en-US")} ${count === 1 ? "row" : "rows"}`].filter(Boolean).join(": ");
      return [{
        id: `${input.node}>${node.id}>${port}`,
        source: input.node,
        target: node.id,
        sourceHandle: "out",
        targetHandle: `in-${port}`,
        className: `edge-${(told.get(input.node)?.kind || "unknown").replace(/\s/g, "-")}`,
        markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
        ...(label ? { label } : {}),
      }];
    })),
    [plan, told, rows],
  );
  const port = (connection: Connection | Edge) => Number((connection.targetHandle ?? "in-0").replace("in-", ""));
  const onNodes = (changes: NodeChange<OpNode>[]) => {
    let next = plan;
    for (const change of changes) {
      if (change.type === "position" && change.position) next = moved(next, change.id, change.position.x, change.position.y);
      if (change.type === "select" && change.selected) onSelect(change.id);
    }
    if (next !== plan) onChange(next);
  };
  return (
    <ReactFlow<OpNode, Edge>
      nodes={nodes}
      edges={edges}
      nodeTypes={TYPES}
      onNodesChange={onNodes}
      onNodesDelete={(gone) => gone.forEach((node) => onRemove(node.id))}
      onEdgesDelete={(gone) => onChange(gone.reduce((now, edge) => connected(now, null, edge.target, port(edge)), plan))}
      onConnect={(connection) => onChange(connected(plan, connection.source, connection.target, port(connection)))}
      isValidConnection={(connection) => canConnect(plan, connection.source, connection.target, port(connection))}
      onNodeClick={(_, node) => onSelect(node.id)}
      onPaneClick={() => onSelect(null)}
      onEdgeClick={(_, edge) => onSelect(edge.source)}
      deleteKeyCode={["Delete", "Backspace"]}
      minZoom={0.2}
      maxZoom={1.6}
      proOptions={{ hideAttribution: true }}
      aria-label="Canvas"
      panOnScroll
      zoomOnScroll={false}
    >
      <Background gap={20} size={1} />
      <Controls showInteractive={false} />
    </ReactFlow>
  );
}
