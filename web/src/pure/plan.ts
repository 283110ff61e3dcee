import type { Column } from "../api";

/** A logical plan as the server tells it. */
export interface LogicalPlan {
  operator: string;
  parameters: Record<string, unknown>;
  schema: (Column & { nullable: boolean })[];
  kind: string;
  inputs: LogicalPlan[];
  subqueries: LogicalPlan[];
}

export interface DrawnNode {
  id: string;
  title: string;
  lines: string[];
  kind: string;
  tags?: string[];
  mark?: "before" | "after" | "shared" | "error";
  group?: string;
}

export interface DrawnEdge {
  id: string;
  source: string;
  target: string;
  label?: string;
  dashed?: boolean;
  /** Which of several inputs it is, from the left. */
  port?: number;
}

export interface Drawing {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

const WORDS: Record<string, string> = { keys: "by", when_empty: "when empty", null_aware: "null-aware", alias: "as" };

/** The parameters of an operator, a line each. */
export function parameterLines(plan: LogicalPlan): string[] {
  return Object.entries(plan.parameters).flatMap(([name, value]) => {
    const text = valueText(value);
    if (!text) return [];
    const bare = ["predicate", "window", "name", "columns", "outputs", "aggregates"].includes(name) || value === true;
    return [bare ? (value === true ? name : text) : `${WORDS[name] ?? name} ${text}`];
  });
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map((part) => valueText(part)).join(", ");
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([name, text]) => (String(text) === name || String(text).endsWith(`.${name}`) ? String(text) : `${String(text)} AS ${name}`))
      .join(", ");
  }
  return String(value);
}

/** What two plans are the same by. */
function signature(plan: LogicalPlan): string {
  return JSON.stringify([plan.operator, plan.parameters, plan.inputs.map(signature), plan.subqueries.map(signature)]);
}

/** Equal parts of a plan are one node: the papers draw plans so. A part that another plan has not is marked. */
export function drawPlan(plan: LogicalPlan, other?: LogicalPlan | null, mark?: "before" | "after"): Drawing {
  const nodes = new Map<string, DrawnNode>();
  const edges = new Map<string, DrawnEdge>();
  const known = new Set<string>();
  if (other) collect(other, known);
  const visit = (part: LogicalPlan): string => {
    const key = signature(part);
    const found = nodes.get(key);
    if (found) return found.id;
    const id = `p${nodes.size + 1}`;
    nodes.set(key, {
      id,
      title: part.operator,
      lines: parameterLines(part),
      kind: part.kind,
      ...(mark && other && !known.has(key) ? { mark } : {}),
    });
    part.inputs.forEach((below, index) => link(visit(below), id, part.inputs.length > 1 ? ["left", "right", "sync"][index] : undefined, false, index));
    part.subqueries.forEach((below, index) => link(visit(below), id, `subquery ${index + 1}`, true, part.inputs.length + index));
    return id;
  };
  const link = (source: string, target: string, label: string | undefined, dashed: boolean, port: number) => {
    const id = `${source}-${target}-${label ?? ""}`;
    edges.set(id, { id, source, target, port, ...(label ? { label } : {}), ...(dashed ? { dashed } : {}) });
  };
  visit(plan);
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function collect(plan: LogicalPlan, into: Set<string>): void {
  into.add(signature(plan));
  for (const below of [...plan.inputs, ...plan.subqueries]) collect(below, into);
}
