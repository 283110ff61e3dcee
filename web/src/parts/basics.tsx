import type { ReactNode } from "react";
import type { Problem } from "../api";
import { sparkPath } from "../pure/spark";

export function Waiting({ what }: { what: string }) {
  return (
    <div className="waiting" role="status">
      Loading {what} ...
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** What is wrong, each with its condition and what to do about it. */
export function Problems({ of }: { of: Problem[] }) {
  if (!of.length) return null;
  return (
    <div className="stack" role="alert">
      {of.map((found, index) => (
        <div className="notice bad" key={index}>
          <span>
            {found.line !== null && <span className="mono">{found.line}:{found.column} </span>}
            {found.message}
          </span>
          {found.hint && <span className="small">{found.hint}</span>}
          <span className="small mono">{found.condition}</span>
        </div>
      ))}
    </div>
  );
}

export function Sparkline({ values, label, width = 96, height = 22 }: { values: number[]; label: string; width?: number; height?: number }) {
  const { line, under, last } = sparkPath(values, width, height);
  return (
    <svg className="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {last ? (
        <>
          <path className="under" d={under} />
          <path d={line} />
        </>
      ) : (
        <line x1={0} x2={width} y1={height - 1} y2={height - 1} />
      )}
    </svg>
  );
}

export function State({ of }: { of: string }) {
  return <span className={`state ${of}`}>{of}</span>;
}

export function Tabs({ label, tabs, at }: { label: string; tabs: readonly (readonly [string, string, string])[]; at: string }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(([name, title, to]) => (
        <a key={name} href={to} aria-current={at === name ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
