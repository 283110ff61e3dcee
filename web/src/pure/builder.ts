// A plan that is drawn: operators, what they read, and where they stand. Changes give a new plan.

export type Kind =
  | "source" | "sql" | "window" | "filter" | "map" | "join" | "group" | "aggregate"
  | "distinct" | "first" | "union" | "difference" | "intersection" | "stream" | "sink";

export interface Input {
  node: string;
  alias: string;
}

export interface PlanNode {
  id: string;
  kind: Kind;
  properties: Record<string, string>;
  inputs: (Input | null)[];
  x: number;
  y: number;
}

export interface Plan {
  nodes: PlanNode[];
}

export interface PlanJson {
  nodes: Omit<PlanNode, "x" | "y">[];
}

export interface KindInfo {
  title: string;
  told: string;
  inputs: number;
  properties: string[];
  initial: Record<string, string>;
}

export const KINDS: Record<Kind, KindInfo> = {
  source: { title: "Source", told: "a stream, relation or view", inputs: 0, properties: ["name"], initial: {} },
  window: { title: "Window", told: "which elements count at an instant", inputs: 1, properties: ["window"], initial: { window: "[RANGE 10 MINUTES]" } },
  filter: { title: "Filter", told: "rows, or groups, that satisfy a condition", inputs: 1, properties: ["predicate"], initial: {} },
  map: { title: "Map", told: "each row to a new one", inputs: 1, properties: ["columns"], initial: { columns: "*" } },
  join: { title: "Join", told: "rows of both sides that belong together", inputs: 2, properties: ["join", "on", "using"], initial: {} },
  group: { title: "Group", told: "rows that are alike in some columns", inputs: 1, properties: ["keys"], initial: {} },
  aggregate: { title: "Aggregation", told: "a row of each group, or one of all", inputs: 1, properties: ["columns"], initial: { columns: "COUNT(*) AS rows" } },
  distinct: { title: "Distinct", told: "each row once", inputs: 1, properties: [], initial: {} },
  union: { title: "Union", told: "the rows of both", inputs: 2, properties: ["rows"], initial: { rows: "ALL" } },
  difference: { title: "Difference", told: "the rows of one without those of the other", inputs: 2, properties: ["rows"], initial: { rows: "ALL" } },
  intersection: { title: "Intersection", told: "the rows that are in both", inputs: 2, properties: ["rows"], initial: { rows: "ALL" } },
  first: { title: "First rows", told: "some rows in an order", inputs: 1, properties: ["order", "limit", "offset"], initial: { limit: "10" } },
  stream: { title: "To stream", told: "what comes, what goes, or all that there is", inputs: 1, properties: ["operator"], initial: { operator: "ISTREAM" } },
  sql: { title: "SQL", told: "a query as text", inputs: 0, properties: ["sql"], initial: {} },
  sink: { title: "Sink", told: "the end: the name of the query, and where answers go", inputs: 1, properties: ["name", "group", "starting", "sink"], initial: {} },
};

export const PALETTE = Object.keys(KINDS) as Kind[];

export const EMPTY: Plan = { nodes: [] };

export function byId(plan: Plan, id: string | null): PlanNode | null {
  return plan.nodes.find((node) => node.id === id) ?? null;
}

/** A plan with one more operator, which reads ``from`` where it reads anything. */
export function added(plan: Plan, kind: Kind, from: string | null, at: { x: number; y: number }): { plan: Plan; id: string } {
  const numbers = plan.nodes.map((node) => Number(node.id.replace(/^n/, ""))).filter(Number.isFinite);
  const id = `n${Math.max(0, ...numbers) + 1}`;
  const inputs: (Input | null)[] = Array.from({ length: KINDS[kind].inputs }, () => null);
  if (from !== null && inputs.length && byId(plan, from)?.kind !== "sink") inputs[0] = { node: from, alias: "" };
  return { plan: { nodes: [...plan.nodes, { id, kind, properties: { ...KINDS[kind].initial }, inputs, ...at }] }, id };
}

/** A plan without an operator; what read it reads what it read, if that is one. */
export function removed(plan: Plan, id: string): Plan {
  const gone = byId(plan, id);
  const below = gone && gone.inputs.length === 1 ? gone.inputs[0] ?? null : null;
  return {
    nodes: plan.nodes
      .filter((node) => node.id !== id)
      .map((node) => ({ ...node, inputs: node.inputs.map((input) => (input?.node === id ? (below ? { ...below, alias: input.alias } : null) : input)) })),
  };
}

/** Whether an operator may read another one at a port: never itself by way of others, and nothing reads a sink. */
export function canConnect(plan: Plan, source: string, target: string, port: number): boolean {
  const [above, below] = [byId(plan, target), byId(plan, source)];
  if (!above || !below || source === target || below.kind === "sink" || port >= above.inputs.length) return false;
  if (below.kind === "group" && above.kind !== "filter" && above.kind !== "aggregate") return false;
  return !reads(plan, source, target);
}

/** Whether an operator reads another one, itself or by way of others. */
export function reads(plan: Plan, id: string, other: string): boolean {
  if (id === other) return true;
  return (byId(plan, id)?.inputs ?? []).some((input) => input !== null && reads(plan, input.node, other));
}

export function connected(plan: Plan, source: string | null, target: string, port: number): Plan {
  if (source !== null && !canConnect(plan, source, target, port)) return plan;
  return changed(plan, target, (node) => ({
    ...node,
    inputs: node.inputs.map((input, index) => (index !== port ? input : source === null ? null : { node: source, alias: input?.alias ?? "" })),
  }));
}

export function aliased(plan: Plan, id: string, port: number, alias: string): Plan {
  return changed(plan, id, (node) => ({ ...node, inputs: node.inputs.map((input, index) => (index === port && input ? { ...input, alias } : input)) }));
}

export function withProperty(plan: Plan, id: string, name: string, value: string): Plan {
  return changed(plan, id, (node) => ({ ...node, properties: { ...node.properties, [name]: value } }));
}

export function moved(plan: Plan, id: string, x: number, y: number): Plan {
  return changed(plan, id, (node) => ({ ...node, x, y }));
}

function changed(plan: Plan, id: string, change: (node: PlanNode) => PlanNode): Plan {
  return { nodes: plan.nodes.map((node) => (node.id === id ? change(node) : node)) };
}

/** What is sent: where operators stand is nobody's business. */
export function toJson(plan: Plan): PlanJson {
  return {
    nodes: plan.nodes.map(({ id, kind, properties, inputs }) => ({
      id,
      kind,
      properties: Object.fromEntries(Object.entries(properties).filter(([, value]) => value.trim() !== "")),
      inputs: inputs.map((input) => (input ? { node: input.node, alias: input.alias.trim() } : null)),
    })),
  };
}

export function fromJson(json: PlanJson): Plan {
  return {
    nodes: json.nodes.map((node) => ({
      ...node,
      inputs: Array.from({ length: KINDS[node.kind].inputs }, (_, index) => node.inputs[index] ?? null),
      x: 0,
      y: 0,
    })),
  };
}

/** What an operator says of itself in the drawing. */
export function linesOf(node: PlanNode): string[] {
  const p = node.properties;
  switch (node.kind) {
    case "join":
      return [[p.join === "," || !p.join?.trim() ? "" : p.join, p.using ? `using ${p.using}` : p.on].filter(Boolean).join(" ") || "product"];
    case "first":
      return [p.order ? `by ${p.order}` : "", p.limit ? `limit ${p.limit}` : "", p.offset ? `offset ${p.offset}` : ""].filter(Boolean);
    case "sink":
      return [p.name || "without a name", p.group ? `group ${p.group}` : "", p.sink ? `into ${p.sink}` : ""].filter(Boolean);
    case "union":
    case "difference":
    case "intersection":
      return p.rows ? [p.rows.toLowerCase()] : [];
    default:
      return KINDS[node.kind].properties.map((name) => (p[name] ?? "").trim()).filter(Boolean);
  }
}

/** The name of a source that an operator reads, if there is one. */
export function sourceOf(plan: Plan, id: string): string | null {
  const node = byId(plan, id);
  if (!node) return null;
  if (node.kind === "source") return node.properties.name ?? null;
  for (const input of node.inputs) {
    const found = input && sourceOf(plan, input.node);
    if (found) return found;
  }
  return null;
}
