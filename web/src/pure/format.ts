/** A count in few characters. */
export function count(value: number): string {
  if (Math.abs(value) < 10_000) return value.toLocaleString("en-US", { maximumFractionDigits: value % 1 ? 1 : 0 });
  for (const [unit, size] of [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]] as const) {
    const scaled = value / size;
    if (Math.abs(scaled) < 1000) return `${scaled.toFixed(Math.abs(scaled) < 10 ? 2 : Math.abs(scaled) < 100 ? 1 : 0)} ${unit}`;
  }
  return value.toExponential(2);
}

/** How much memory or disk. */
export function bytes(value: number): string {
  if (value < 1024) return `${Math.round(value)} B`;
  for (const [unit, size] of [["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]] as const) {
    const scaled = value / size;
    if (scaled < 1024) return `${scaled.toFixed(scaled < 10 ? 1 : 0)} ${unit}`;
  }
  return value.toExponential(2);
}

/** How long, of seconds. */
export function seconds(value: number): string {
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

/** A value of a row as it is shown. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

/** One of a thing or several. */
export function plural(number: number, one: string, several = `${one}s`): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : several}`;
}
