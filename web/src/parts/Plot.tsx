import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { useTheme } from "../hooks";
import type { TimeDomain } from "../pure/instants";
import { count } from "../pure/format";
import { showTime } from "../pure/instants";

export interface Line {
  name: string;
  values: (number | null)[];
}

const WHOLE = [1, 2, 5].flatMap((n) => Array.from({ length: 15 }, (_, power) => n * 10 ** power)).sort((a, b) => a - b);
const SECOND = 1e6;
const TIMES = [
  ...WHOLE.filter((n) => n < SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 60 * SECOND),
  ...[1, 2, 3, 6, 12, 24, 48, 168, 720, 8760].map((n) => n * 3600 * SECOND),
];
const COLOURS = ["--accent", "--good", "--warn", "--bad", "--muted"] as const;

/** Numbers over instants, as steps: what a relation holds stays until it changes. */
export function Plot({ instants, lines, domain, height = 150, at, onPick }: {
  instants: number[];
  lines: Line[];
  domain: TimeDomain;
  height?: number;
  at?: number | null;
  onPick?: (instant: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useTheme();
  const names = lines.map((line) => line.name).join("\u0000");
  const mark = useRef(at);
  mark.current = at;
  const pick = useRef(onPick);
  pick.current = onPick;

  const whole = lines.every((line) => line.values.every((value) => value === null || Number.isInteger(value)));

  useEffect(() => {
    if (!box.current) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "11px system-ui" };
    const made = new uPlot(
      {
        width: box.current.clientWidth || 400,
        height,
        scales: { x: { time: false } },
        legend: { show: true, live: false },
        cursor: { points: { size: 5 }, drag: { x: false, y: false } },
        axes: [
          { ...axis, incrs: domain === "ticks" ? WHOLE : TIMES, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => showTime(Math.round(tick), domain).replace(/\..*$/, "")), space: 90 },
          { ...axis, size: 58, values: (_: uPlot, ticks: number[]) => ticks.map(count), ...(whole ? { incrs: WHOLE } : {}) },
        ],
        series: [
          {},
          ...lines.map((line, index) => ({
            label: line.name,
            stroke: colour(COLOURS[index % COLOURS.length]!),
            width: 1.4,
            points: { show: false },
            ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          })),
        ],
        hooks: {
          draw: [
            (u: uPlot) => {
              if (mark.current === null || mark.current === undefined) return;
              const x = Math.round(u.valToPos(mark.current, "x", true));
              u.ctx.save();
              u.ctx.strokeStyle = colour("--text");
              u.ctx.setLineDash([3, 3]);
              u.ctx.beginPath();
              u.ctx.moveTo(x, u.bbox.top);
              u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
              u.ctx.stroke();
              u.ctx.restore();
            },
          ],
        },
      },
      [instants, ...lines.map((line) => line.values)] as uPlot.AlignedData,
      box.current,
    );
    plot.current = made;
    made.over.addEventListener("click", () => {
      const index = made.cursor.idx;
      const found = index === null || index === undefined ? undefined : made.data[0][index];
      if (found !== undefined) pick.current?.(found);
    });
    const observer = new ResizeObserver(([entry]) => entry && made.setSize({ width: Math.max(entry.contentRect.width, 120), height }));
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
    // the plot is made anew where its lines or colours are others, and only told of new values
  }, [names, domain, theme, height, whole]);

  useEffect(() => {
    plot.current?.setData([instants, ...lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [instants, lines]);
  useEffect(() => {
    plot.current?.redraw(false);
  }, [at]);
  return <div ref={box} className="plot" role="img" aria-label={`${lines.map((line) => line.name).join(", ")} over time`} />;
}
