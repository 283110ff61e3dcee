import type { Drawing } from "./plan";

export interface Placed {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** About how large a node is drawn: the layout needs that before anything is drawn. */
export function sizeOf(title: string, lines: readonly string[], tags: readonly string[] = []): { width: number; height: number } {
  const longest = Math.max(title.length * 7.4, ...lines.map((line) => Math.min(line.length, 44) * 6.7), 90);
  const width = Math.min(Math.max(Math.ceil(longest) + 26, 130), 320);
  const perLine = Math.floor((width - 26) / 6.7);
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / perLine)), 0);
  const titleRows = Math.max(1, Math.ceil((title.length * 7.4) / (width - 22)));
  return { width, height: 16 + titleRows * 19 + rows * 17 + (tags.length ? 22 : 0) };
}

/** Where nodes stand, by layers in the direction in which rows flow. */
export async function layout(drawing: Drawing, known?: Map<string, { width: number; height: number }>): Promise<Map<string, Placed>> {
  const { default: Elk } = await import("elkjs/lib/elk.bundled.js");
  const sizes = new Map(drawing.nodes.map((node) => [node.id, known?.get(node.id) ?? sizeOf(node.group ? `${node.title}   ${node.group}` : node.title, node.lines, node.tags)]));
  const found = await new Elk().layout({
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.layered.spacing.nodeNodeBetweenLayers": drawing.edges.some((edge) => edge.label) ? "54" : "30",
      "elk.spacing.nodeNode": "28",
      "elk.spacing.edgeNode": "26",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
    },
    children: drawing.nodes.map((node) => ({ id: node.id, ...sizes.get(node.id)!, ...portsOf(drawing, node.id) })),
    edges: drawing.edges.map((edge) => ({ id: edge.id, sources: [edge.source], targets: [edge.port === undefined ? edge.target : `${edge.target}:${edge.port}`] })),
  });
  return new Map((found.children ?? []).map((child) => [child.id, { x: child.x ?? 0, y: child.y ?? 0, ...sizes.get(child.id)! }]));
}

/** Inputs keep their order: the left one comes from the left. */
function portsOf(drawing: Drawing, id: string) {
  const ports = [...new Set(drawing.edges.flatMap((edge) => (edge.target === id && edge.port !== undefined ? [edge.port] : [])))];
  return {
    layoutOptions: { "elk.portConstraints": "FIXED_ORDER" },
    ports: ports.map((port) => ({ id: `${id}:${port}`, width: 1, height: 1, layoutOptions: { "elk.port.side": "NORTH", "elk.port.index": String(port) } })),
  };
}

/** How a drawing is put into a box: as large as it fits, but never so small that nobody reads it. */
export function framed(places: Iterable<Placed>, width: number, height: number, least = 0.72, most = 1.1): { x: number; y: number; zoom: number } {
  const all = [...places];
  if (!all.length || width <= 0 || height <= 0) return { x: 0, y: 0, zoom: 1 };
  const left = Math.min(...all.map((p) => p.x));
  const top = Math.min(...all.map((p) => p.y));
  const wide = Math.max(...all.map((p) => p.x + p.width)) - left;
  const high = Math.max(...all.map((p) => p.y + p.height)) - top;
  const margin = 14;
  const zoom = Math.min(Math.max(Math.min((width - 2 * margin) / wide, (height - 2 * margin) / high), least), most);
  const x = wide * zoom + 2 * margin > width ? margin : (width - wide * zoom) / 2;
  const y = high * zoom + 2 * margin > height ? margin : (height - high * zoom) / 2;
  return { x: x - left * zoom, y: y - top * zoom, zoom };
}
