export interface Spark {
  line: string;
  under: string;
  last: { x: number; y: number } | null;
}

/** The path of a small line over values, oldest first, in a box of a width and a height. */
export function sparkPath(values: readonly number[], width: number, height: number): Spark {
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return { line: "", under: "", last: null };
  const top = Math.max(...finite);
  const bottom = Math.min(0, ...finite);
  const range = top - bottom || 1;
  const step = width / (finite.length - 1);
  const y = (value: number) => round(1 + (height - 2) * (1 - (value - bottom) / range));
  const points = finite.map((value, index) => `${round(index * step)} ${y(value)}`);
  const line = `M${points.join("L")}`;
  const last = { x: round(width), y: y(finite.at(-1)!) };
  return { line, under: `${line}L${round(width)} ${height}L0 ${height}Z`, last };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
