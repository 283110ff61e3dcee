// Instants are whole numbers: ticks, or microseconds since 1970, which a double holds exactly until the year 2255.

export type TimeDomain = "ticks" | "microseconds";

const MICROSECONDS = 1_000_000;

/** An instant as the command line prints it: an integer, or ISO 8601 in UTC. */
export function showInstant(instant: number, domain: TimeDomain): string {
  if (domain === "ticks") return String(instant);
  const seconds = Math.floor(instant / MICROSECONDS);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(instant);
  const whole = date.toISOString().slice(0, 19);
  const fraction = instant - seconds * MICROSECONDS;
  const digits = fraction ? `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}` : "";
  return `${whole}${digits}Z`;
}

/** The time of day alone where that says enough. */
export function showTime(instant: number, domain: TimeDomain): string {
  const full = showInstant(instant, domain);
  return domain === "ticks" ? full : full.slice(11, -1);
}

/** What somebody typed or what stands in a link; null where it is no instant of the domain. */
export function readInstant(text: string, domain: TimeDomain): number | null {
  const trimmed = text.trim();
  if (/^-?\d+$/.test(trimmed)) return Number(trimmed);
  if (domain === "ticks") return null;
  const found = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?Z?$/.exec(trimmed);
  if (!found) return null;
  const [, day, minutes, seconds, fraction] = found;
  const millis = Date.parse(`${day}T${minutes}${seconds ?? ":00"}Z`);
  if (Number.isNaN(millis)) return null;
  return millis * 1000 + Number((fraction ?? ".").slice(1).padEnd(6, "0"));
}

/** The first of sorted instants that is later, or null. */
export function nextAfter(sorted: readonly number[], instant: number): number | null {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= instant) low = middle + 1;
    else high = middle;
  }
  return sorted[low] ?? null;
}

/** The last of sorted instants that is earlier, or null. */
export function lastBefore(sorted: readonly number[], instant: number): number | null {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < instant) low = middle + 1;
    else high = middle;
  }
  return sorted[low - 1] ?? null;
}
