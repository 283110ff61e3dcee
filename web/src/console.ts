import { get, post, query, type Column, type Content, type Instant, type Problem } from "./api";
import type { Change, Row } from "./pure/rows";
import type { TimeDomain } from "./pure/instants";
import type { LogicalPlan } from "./pure/plan";

// What the server tells for these pages alone: src/continua/server/routes/console.py.

/** What an epoch did. */
export interface Sample {
  epoch: number;
  seconds: number;
  rowsIn: number;
  rowsOut: number;
  stateBytes: number;
  lag: number | null;
  at: number;
}

export interface Progress {
  queries: { name: string; samples: Sample[]; stateBytes: number }[];
}

export interface History {
  domain: TimeDomain;
  begin: number | null;
  until: number | null;
  whole: boolean;
  instants: number[];
  counts: number[];
  series: { name: string; least: (number | null)[]; greatest: (number | null)[] }[];
  latest: Change[];
}

export interface WindowContent {
  window: string;
  source: string;
  columns: Column[];
  rows: Row[];
  total: number;
  why: string | null;
}

export interface Operator {
  id: number;
  title: string;
  level: number;
  inputs: number[];
  alone: string | null;
  state: string | null;
  queries: string[];
  rows: number | null;
  rowsPerSecond: number | null;
  bytesPerSecond: number | null;
  stateRows: number | null;
  stateBytes: number | null;
  milliseconds: number | null;
}

export interface Physical {
  live: boolean;
  levels: { level: number; where: string }[];
  operators: Operator[];
  moves: { source: number; target: number; how: string }[];
}

export interface RewriteStep {
  rule: string;
  law: string;
  conditions: string[];
  before: LogicalPlan;
  after: LogicalPlan;
}

export interface Plans {
  logical: LogicalPlan;
  rewrites: { steps: RewriteStep[]; plan: LogicalPlan; ran_out: boolean };
  physical: Physical | null;
  why: string | null;
  notes: { condition: string; message: string; hint: string | null }[];
  expanded: string;
  defaults: string[];
}

export interface Verified {
  agrees: boolean;
  instants: number;
  rows: number;
  queries: { name: string; agrees: boolean; instants: number; told: string }[];
}

export const progress = (signal?: AbortSignal) => get<Progress>("/api/console/progress", signal);
export const history = (name: string, signal?: AbortSignal) => get<History>(`${query(name)}/history`, signal);
export const snapshot = (name: string, at: Instant | null, signal?: AbortSignal) =>
  get<Content>(`${query(name)}/snapshot?limit=500${at === null ? "" : `&at=${encodeURIComponent(String(at))}`}`, signal);
export const windows = (name: string, at: Instant | null, signal?: AbortSignal) =>
  get<{ windows: WindowContent[] }>(`${query(name)}/windows${at === null ? "" : `?at=${encodeURIComponent(String(at))}`}`, signal);
export const plans = (name: string, signal?: AbortSignal) => get<Plans>(`${query(name)}/plans`, signal);
export const plansOf = (sql: string, signal?: AbortSignal) => post<Plans>("/api/console/plans", { sql }, signal);
export const wholeGraph = (signal?: AbortSignal) => get<Physical>("/api/console/graph", signal);
export const checked = (sql: string, signal?: AbortSignal) => post<{ errors: Problem[]; notices: Problem[] }>("/api/check", { sql }, signal);
export const verify = (sql: string, signal?: AbortSignal) => post<Verified>("/api/console/verify", { sql }, signal);
export const words = (signal?: AbortSignal) =>
  get<{ keywords: string[]; functions: { name: string; kind: string; told: string }[]; dialect: string }>("/api/console/words", signal);
