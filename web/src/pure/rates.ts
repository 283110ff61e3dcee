import type { Sample } from "../console";

/** Rows a second between the ends of epochs that follow each other. */
export function ratesOf(samples: readonly Sample[]): { rowsIn: number[]; rowsOut: number[] } {
  const rowsIn: number[] = [];
  const rowsOut: number[] = [];
  for (let index = 1; index < samples.length; index += 1) {
    const now = samples[index]!;
    const took = Math.max(now.at - samples[index - 1]!.at, 0.001);
    rowsIn.push(now.rowsIn / took);
    rowsOut.push(now.rowsOut / took);
  }
  return { rowsIn, rowsOut };
}
