import type { CatalogEntry } from "../api";

export interface Word {
  name: string;
  kind: string;
}

interface Names {
  entries: CatalogEntry[];
  words: Word[];
  keywords: string[];
}

const TABLES = new Set(["FROM", "JOIN", "INTO", "OVER", "DESCRIBE"]);
const NOT_ALIASES = new Set(["ON", "WHERE", "GROUP", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "UNION", "EXCEPT", "INTERSECT", "ORDER", "HAVING", "LIMIT", "USING", "WINDOW"]);

/** What the word before the cursor can become: columns behind a qualifier, streams behind FROM, else all. */
export function completions(text: string, at: number, names: Names | null): { from: number; options: Word[] } | null {
  if (!names) return null;
  const before = text.slice(0, at);
  const word = /\w*$/.exec(before)![0];
  const from = at - word.length;
  const lead = before.slice(0, from);
  const qualifier = /(\w+)\.$/.exec(lead)?.[1];
  if (qualifier) {
    const table = aliases(text).get(qualifier.toLowerCase()) ?? qualifier;
    return { from, options: columnsOf(names, table) };
  }
  const last = /(\w+)\s*$/.exec(lead)?.[1]?.toUpperCase();
  if (last && TABLES.has(last)) return { from, options: tables(names) };
  const used = [...new Set([...aliases(text).values()])].flatMap((table) => columnsOf(names, table));
  const lower = word !== "" && word === word.toLowerCase();
  const spelled = (name: string) => (lower ? name.toLowerCase() : name);
  return {
    from,
    options: unique([
      ...used,
      ...tables(names),
      ...names.words.map((one) => ({ name: one.kind === "function" || one.kind === "aggregate" ? spelled(one.name) : one.name, kind: one.kind })),
      ...names.keywords.map((name) => ({ name: spelled(name), kind: "keyword" })),
    ]),
  };
}

/** What the names before a dot stand for: tables by their own names and by their aliases. */
export function aliases(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, table, alias] of text.matchAll(/(?:\bFROM|\bJOIN|,)\s+(\w+)(?:\s*\[[^\]]*\]|\s+WINDOW\s*\([^)]*\))?(?:\s+(?:AS\s+)?(\w+))?/gi)) {
    found.set(table!.toLowerCase(), table!);
    if (alias && !NOT_ALIASES.has(alias.toUpperCase())) found.set(alias.toLowerCase(), table!);
  }
  return found;
}

function columnsOf(names: Names, table: string): Word[] {
  const entry = names.entries.find((one) => one.name.toLowerCase() === table.toLowerCase());
  return (entry?.columns ?? []).map((column) => ({ name: column.name, kind: `${column.type} of ${entry!.name}` }));
}

function tables(names: Names): Word[] {
  return names.entries.filter((one) => !["function", "aggregate", "window"].includes(one.kind)).map((one) => ({ name: one.name, kind: one.kind }));
}

function unique(words: Word[]): Word[] {
  const seen = new Set<string>();
  return words.filter((word) => !seen.has(word.name.toLowerCase()) && seen.add(word.name.toLowerCase()));
}
