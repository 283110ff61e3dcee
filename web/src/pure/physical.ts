import type { Operator, Physical } from "../console";
import { bytes, count, plural } from "./format";
import type { Drawing } from "./plan";

/** The graph that runs: operators with what they hold, and what moves between them. */
export function drawPhysical(physical: Physical, shared: boolean): Drawing {
  const where = new Map(physical.operators.map((operator) => [operator.id, operator]));
  const how = new Map(physical.moves.map((move) => [`${move.source}-${move.target}`, move.how]));
  return {
    nodes: physical.operators.map((operator) => ({
      id: String(operator.id),
      title: operator.title,
      lines: linesOf(operator),
      kind: operator.state ? "state" : "relation",
      group: `level ${operator.level}`,
      ...(shared && operator.queries.length > 1 ? { mark: "shared" as const } : {}),
      ...(shared ? { tags: operator.queries } : {}),
    })),
    edges: physical.operators.flatMap((operator) =>
      operator.inputs.map((below) => {
        const moved = how.get(`${below}-${operator.id}`);
        const rate = where.get(below)?.rowsPerSecond;
        const width = where.get(below)?.bytesPerSecond;
        const flow = rate === null || rate === undefined ? "" : `${count(rate)} rows/s${width ? `, about ${bytes(width)}/s` : ""}`;
        const label = [moved?.replace(", rows that start behind the epoch wait", ", early rows wait"), flow].filter(Boolean).join(": ");
        return { id: `${below}-${operator.id}`, source: String(below), target: String(operator.id), ...(label ? { label } : {}), dashed: Boolean(moved) };
      }),
    ),
  };
}

function linesOf(operator: Operator): string[] {
  const lines: string[] = [];
  if (operator.alone) lines.push(operator.alone);
  if (operator.state) lines.push(`state: ${operator.state}`);
  if (operator.stateBytes) lines.push(`holds ${operator.stateRows ? `${plural(operator.stateRows, "row")}, ` : ""}${bytes(operator.stateBytes)}`);
  if (operator.milliseconds) lines.push(`${operator.milliseconds.toFixed(1)} ms an epoch`);
  return lines;
}
