import type { TimeDomain } from "./instants";

const UNITS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 5e6, 1e7, 3e7, 6e7, 3e8, 6e8, 3.6e9];

/** How far the slider moves at once: about a thousandth of its way, in a unit that people count in. */
export function stepOf(begin: number, until: number, domain: TimeDomain): number {
  const wanted = (until - begin) / 1000;
  if (domain === "ticks") return Math.max(1, Math.round(wanted));
  return UNITS.findLast((unit) => unit <= wanted) ?? 1;
}

/** Where marks stand between 0 and 1, at most so many. */
export function ticksOf(begin: number, until: number, instants: readonly number[], most: number): number[] {
  const range = until - begin;
  if (range <= 0) return [];
  const places = new Set<number>();
  for (const instant of instants) {
    if (instant >= begin && instant <= until) places.add(Math.round(((instant - begin) / range) * most) / most);
  }
  return [...places];
}

const FAR = 20;

/**
 * Where the slider begins. Some answers are there since the beginning of time, long before the first row came: then it begins
 * shortly before the next change.
 */
export function outset(begin: number, until: number, instants: readonly number[]): number {
  const [first, second] = instants;
  if (first === undefined || second === undefined || begin > first) return begin;
  const busy = Math.max(until - second, 1);
  return second - first > FAR * busy ? Math.max(Math.floor(second - busy / FAR) - 1, begin) : begin;
}
