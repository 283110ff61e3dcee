import { post } from "../api";
import { useLoaded } from "../hooks";
import { Problems } from "./basics";

interface Drawn {
  elements: boolean[];
  parts: number;
  contents: { at: number; shown: number | string; shares: number[] }[];
}

/** A window over a time line: for some instants, which elements of a stream it holds. */
export function WindowPicture({ source, window }: { source: string | null; window: string }) {
  const drawn = useLoaded(async (signal): Promise<Drawn | null> => (source && window.trim() ? post<Drawn>("/api/builder/window", { source, window }, signal) : null), [source, window]);
  if (!source) return <p className="muted small">Connect it to a stream to see what it holds over time.</p>;
  if (drawn.problems.length) return <Problems of={drawn.problems} />;
  if (!drawn.value) return null;
  const { elements, contents, parts } = drawn.value;
  const [width, label, top, row] = [330, 64, 20, 11];
  const step = (width - label) / elements.length;
  const shown = contents.slice(0, 14);
  const height = top + shown.length * row + 6;
  return (
    <figure className="stack" style={{ margin: 0 }}>
      <svg viewBox={`0 0 ${width} ${height}`} width="100%" role="img" aria-label={`The window ${window} over time: each line is what it holds at an instant`}>
        {elements.map((there, index) => there && <circle key={index} cx={label + (index + 0.5) * step} cy={9} r={parts > 1 && index % parts ? 1.6 : 2.4} fill="var(--accent)" />)}
        {shown.map((content, line) => {
          const y = top + line * row;
          return (
            <g key={line}>
              <text x={label - 6} y={y + 8} textAnchor="end" fontSize={8.5} fill="var(--muted)">{timeOf(content.shown)}</text>
              <line x1={label} x2={width} y1={y + row / 2} y2={y + row / 2} stroke="var(--line)" strokeWidth={0.6} />
              {content.shares.map((share, index) => share > 0 && <rect key={index} x={label + index * step + 0.5} y={y + 1.5} width={Math.max(step - 1, 1)} height={row - 3} fill="var(--accent)" opacity={0.25 + 0.75 * share} rx={1} />)}
            </g>
          );
        })}
      </svg>
      <figcaption className="muted small">Dots are elements over time; each line is what the window holds from that instant on.</figcaption>
    </figure>
  );
}

function timeOf(shown: number | string): string {
  if (typeof shown === "number") return String(shown);
  const time = shown.slice(11, 19);
  const day = shown.slice(0, 10);
  return day === "1970-01-01" ? time : day.slice(5);
}
