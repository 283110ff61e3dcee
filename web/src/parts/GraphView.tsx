import { Background, BaseEdge, Controls, getBezierPath, Handle, MarkerType, Position, ReactFlow, ReactFlowProvider, useReactFlow, type Edge, type EdgeProps, type Node, type NodeProps } from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { framed, layout, type Placed } from "../pure/layout";
import type { DrawnNode, Drawing } from "../pure/plan";
import { Waiting } from "./basics";

type BoxNode = Node<{ drawn: DrawnNode } & Record<string, unknown>, "box">;

function Box({ data }: NodeProps<BoxNode>) {
  const { title, lines, mark, kind, tags } = data.drawn;
  return (
    <div className={`box kind-${kind.replace(/\s/g, "-")} ${mark ? `mark-${mark}` : ""}`}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <div className="title">{title}{data.drawn.group && <span className="group">{data.drawn.group}</span>}</div>
      {lines.map((line, index) => (
        <div className="line" key={index}>{line}</div>
      ))}
      {tags && tags.length > 0 && <div className="box-tags">{tags.length > 3 ? `${tags.length} queries` : tags.join(", ")}</div>}
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

/** An edge whose words stand where there is room: near its source where others end beside it, else near its target. */
function Worded(props: EdgeProps<Edge<{ joins: boolean }>>) {
  const { sourceX, sourceY, targetX, targetY, label, markerEnd, data } = props;
  const [path] = getBezierPath({ sourceX, sourceY, targetX, targetY, sourcePosition: Position.Bottom, targetPosition: Position.Top });
  const straight = Math.abs(sourceX - targetX) < 40;
  const share = straight ? 0.5 : data?.joins ? 0.22 : 0.72;
  const labelX = straight ? (sourceX + targetX) / 2 : data?.joins ? sourceX : targetX;
  return <BaseEdge path={path} label={label} labelX={labelX} labelY={sourceY + (targetY - sourceY) * share} {...(markerEnd ? { markerEnd } : {})} />;
}

const TYPES = { box: Box };
const EDGES = { worded: Worded };

/** A graph to look at. Its text for those who do not see it is a list of the same. */
export function GraphView({ drawing, label, height }: { drawing: Drawing; label: string; height?: number | string }) {
  return (
    <div className="graph" style={height === undefined ? undefined : { height }}>
      <ReactFlowProvider>
        <Inner drawing={drawing} label={label} />
      </ReactFlowProvider>
      <ul className="visually-hidden" aria-label={label}>
        {drawing.nodes.map((node) => (
          <li key={node.id}>
            {node.title} {node.lines.join("; ")} reads {drawing.edges.filter((e) => e.target === node.id).map((e) => drawing.nodes.find((n) => n.id === e.source)?.title).join(", ") || "nothing"}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Inner({ drawing, label }: { drawing: Drawing; label: string }) {
  const shape = useMemo(() => JSON.stringify([drawing.nodes.map((n) => [n.id, n.title, n.lines.length, n.tags?.length ?? 0]), drawing.edges.map((e) => [e.id, Boolean(e.label)])]), [drawing]);
  const [places, setPlaces] = useState<{ shape: string; at: Map<string, Placed> } | null>(null);
  const flow = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let stale = false;
    void layout(drawing).then((at) => {
      if (stale) return;
      setPlaces({ shape, at });
    });
    return () => {
      stale = true;
    };
    // only where the shape differs: figures change all the time, and nothing moves because of them
  }, [shape]);
  const placed = places?.shape;
  useEffect(() => {
    if (!places || !box.current) return;
    void flow.setViewport(framed(places.at.values(), box.current.clientWidth, box.current.clientHeight));
    // the reader may have moved it since: only another drawing is put into its frame anew
  }, [placed, flow]);
  if (!places) return <Waiting what="the graph" />;
  const nodes: BoxNode[] = drawing.nodes.flatMap((drawn) => {
    const at = places.at.get(drawn.id);
    return at ? [{ id: drawn.id, type: "box" as const, position: { x: at.x, y: at.y }, width: at.width, data: { drawn }, draggable: false, selectable: false, focusable: false }] : [];
  });
  const edges: Edge<{ joins: boolean }>[] = drawing.edges.map((edge) => ({
    id: edge.id,
    type: "worded",
    data: { joins: drawing.edges.some((other) => other.target === edge.target && other.source !== edge.source) },
    source: edge.source,
    target: edge.target,
    ...(edge.label ? { label: edge.label } : {}),
    className: edge.dashed ? "dashed" : "",
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
    focusable: false,
  }));
  return (
    <div className="frame" ref={box}>
    <ReactFlow nodes={nodes} edges={edges} nodeTypes={TYPES} edgeTypes={EDGES} onInit={(made) => box.current && void made.setViewport(framed(places.at.values(), box.current.clientWidth, box.current.clientHeight))} minZoom={0.15} maxZoom={2} nodesConnectable={false} proOptions={{ hideAttribution: true }} aria-label={label} zoomOnScroll={false} panOnScroll preventScrolling={false}>
      <Background gap={24} size={1} />
      <Controls showInteractive={false} />
    </ReactFlow>
    </div>
  );
}
