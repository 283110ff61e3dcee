import type { Problem } from "../api";

/** Where a problem stands in a text, as offsets; the last word where it has no place. */
export function placeOf(text: string, problem: Pick<Problem, "line" | "column" | "length">): { from: number; to: number } {
  if (problem.line === null || problem.column === null) {
    const end = text.trimEnd().length;
    const word = /\S+$/.exec(text.slice(0, end));
    return { from: Math.max(end - (word?.[0].length ?? 1), 0), to: end };
  }
  const lines = text.split("\n");
  const before = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const line = lines[problem.line - 1] ?? "";
  // the server counts characters, and strings here count UTF-16 units
  const characters = [...line];
  const start = characters.slice(0, problem.column - 1).join("").length;
  const length = Math.max(characters.slice(problem.column - 1, problem.column - 1 + (problem.length ?? 1)).join("").length, 1);
  const from = Math.min(before + start, text.length);
  const to = Math.min(from + length, Math.max(text.length, from));
  return from === to && from > 0 ? { from: from - 1, to } : { from, to };
}
