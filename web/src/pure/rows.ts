// Contents of relations are bags: a row that is there twice stands there twice.

export type Value = string | number | boolean | null | object;
export type Row = Record<string, Value>;

export interface Change {
  t: number;
  op: "+" | "-" | "u" | null;
  row: Row;
}

export interface ShownRow {
  key: string;
  row: Row;
  state: "same" | "came" | "went";
}

/** What makes two rows the same. */
export function keyOf(row: Row): string {
  return JSON.stringify(row);
}

function counted(rows: readonly Row[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row);
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

/** The rows of a content in its order, with those that were not there before marked, then those that are gone. */
export function compare(before: readonly Row[] | null, now: readonly Row[]): ShownRow[] {
  const seen = new Map<string, number>();
  const numbered = (row: Row, state: ShownRow["state"]): ShownRow => {
    const key = keyOf(row);
    const copy = (seen.get(key) ?? 0) + 1;
    seen.set(key, copy);
    return { key: `${key}#${copy}`, row, state };
  };
  if (before === null) return now.map((row) => numbered(row, "same"));
  const earlier = counted(before);
  const shown = now.map((row) => {
    const key = keyOf(row);
    const left = earlier.get(key) ?? 0;
    earlier.set(key, left - 1);
    return numbered(row, left > 0 ? "same" : "came");
  });
  const gone: ShownRow[] = [];
  const remaining = counted(now);
  for (const row of before) {
    const key = keyOf(row);
    const left = remaining.get(key) ?? 0;
    remaining.set(key, left - 1);
    if (left <= 0) gone.push(numbered(row, "went"));
  }
  return [...shown, ...gone];
}
