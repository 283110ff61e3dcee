import type { TimeDomain } from "./pure/instants";
import type { Row } from "./pure/rows";

// What the server tells: docs/server.md has the same by its routes.

export type Instant = number | string;

export interface Problem {
  condition: string;
  message: string;
  hint: string | null;
  line: number | null;
  column: number | null;
  length: number | null;
  parameters: Record<string, unknown>;
}

export interface Column {
  name: string;
  type: string;
}

export interface QueryInfo {
  name: string;
  sql: string;
  expanded: string;
  answer: string;
  time: TimeDomain;
  columns: Column[];
  sources: string[];
  group: string;
  state: "live" | "stopped" | "failed";
  start: Instant | null;
  until: Instant | null;
  ended: boolean;
  epoch: number;
  rows: number;
  lag: number | null;
  sink: string | null;
  failure: Problem | null;
}

export interface Content {
  query: string;
  at: Instant;
  columns: Column[];
  rows: Row[];
  total: number;
}

export interface CatalogEntry {
  name: string;
  kind: string;
  columns: Column[];
  sql: string;
}

export interface Done {
  statement: string;
  message?: string;
  query?: string;
  content?: Content;
  header?: string[];
  table?: unknown[][];
  text?: string;
  notices?: Problem[];
}

/** What the server has refused, with its reasons. */
export class Refused extends Error {
  readonly problems: Problem[];
  readonly status: number;

  constructor(status: number, problems: Problem[]) {
    super(problems.map((p) => p.message).join("; "));
    this.status = status;
    this.problems = problems;
  }
}

const TOKEN = "continua-token";

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

export function setToken(text: string): void {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

export function headers(): Record<string, string> {
  const known = token();
  return known ? { Authorization: `Bearer ${known}` } : {};
}

interface Context {
  source?: string;
}

/** JSON in which whole numbers that a double does not hold stay as they are written. */
export function readJson<T>(text: string): T {
  return JSON.parse(text, function (this: unknown, _key: string, value: unknown, context?: Context) {
    const inexact = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return inexact && context?.source && /^-?\d+$/.test(context.source) ? context.source : value;
  } as (key: string, value: unknown) => unknown) as T;
}

async function asked<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...headers(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, [problem("UNREACHABLE", "the server does not answer", "is continua serve running?")]);
  }
  const text = await answer.text();
  if (answer.ok) return (text ? readJson<T>(text) : undefined) as T;
  let problems: Problem[];
  try {
    problems = readJson<{ errors: Problem[] }>(text).errors;
  } catch {
    problems = [problem("HTTP", `${answer.status} ${answer.statusText}`, null)];
  }
  throw new Refused(answer.status, problems);
}

function problem(condition: string, message: string, hint: string | null): Problem {
  return { condition, message, hint, line: null, column: null, length: null, parameters: {} };
}

export const get = <T>(path: string, signal?: AbortSignal) => asked<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body?: unknown, signal?: AbortSignal) => asked<T>("POST", path, body, signal);
export const remove = (path: string) => asked<void>("DELETE", path);

/** What a route answers as a file that is saved: a link would not say who asks. */
export async function saved(path: string, name: string): Promise<void> {
  const answer = await fetch(path, { headers: { ...headers(), Accept: "text/csv" } });
  if (!answer.ok) throw new Refused(answer.status, readJson<{ errors: Problem[] }>(await answer.text()).errors);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const query = (name: string) => `/api/queries/${encodeURIComponent(name)}`;

export function problemsOf(error: unknown): Problem[] {
  if (error instanceof Refused) return error.problems;
  return [problem("INTERNAL", error instanceof Error ? error.message : String(error), null)];
}
