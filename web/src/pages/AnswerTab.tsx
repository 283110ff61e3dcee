import { useEffect, useMemo, useRef, useState } from "react";
import { problemsOf, query as path, saved, type Content, type Problem, type QueryInfo } from "../api";
import { history, snapshot, windows, type History } from "../console";
import { address, go, useLoaded } from "../hooks";
import { Empty, Problems, Waiting } from "../parts/basics";
import { Plot, type Line } from "../parts/Plot";
import { RowsTable } from "../parts/RowsTable";
import { cell, plural } from "../pure/format";
import { lastBefore, nextAfter, readInstant, showInstant, showTime } from "../pure/instants";
import { compare, type Row, type ShownRow } from "../pure/rows";
import { outset, stepOf, ticksOf } from "../pure/slider";

/** What a query holds: live, or at an instant. */
export function AnswerTab({ of: q, at: asked }: { of: QueryInfo; at: string | null }) {
  const at = asked === null ? null : readInstant(asked, q.time);
  const isLive = q.state === "live";
  const told = useLoaded((signal) => history(q.name, signal), [q.name, isLive], isLive ? 1500 : undefined);
  if (!isLive) {
    return (
      <section className="panel">
        <Empty title={q.state === "failed" ? "This query has failed." : "This query is stopped."}>
          <span>Its answer goes on when it is started: it begins anew, after the rows that have been read.</span>
        </Empty>
      </section>
    );
  }
  return (
    <>
      {asked !== null && at === null && (
        <div className="notice bad" role="alert">
          <span>{asked} is no instant of this query.</span>
          <a href={address(["queries", q.name])}>Show what it holds now</a>
        </div>
      )}
      <Problems of={told.problems} />
      {told.value ? <Slider of={q} told={told.value} at={at} /> : told.loading && <Waiting what="history" />}
      <Answer of={q} at={at} told={told.value} />
    </>
  );
}

function Slider({ of: q, told, at }: { of: QueryInfo; told: History; at: number | null }) {
  const { until, instants } = told;
  const move = (to: number | null, replace = false) => go(address(["queries", q.name], { at: to === null ? null : showInstant(to, q.time) }), replace);
  const [typed, setTyped] = useState<string | null>(null);
  if (told.begin === null || until === null) return <section className="panel"><Empty title="Nothing is closed yet."><span>An instant is closed when all sources are complete up to it.</span></Empty></section>;
  const begin = outset(told.begin, until, instants);
  const shown = at ?? until;
  const before = lastBefore(instants, shown);
  const after = nextAfter(instants, shown);
  const step = stepOf(begin, until, q.time);
  const wrong = typed !== null && readInstant(typed, q.time) === null;
  const outside = at !== null && (at < told.begin || at > until);
  return (
    <section className="panel" aria-label="Instants">
      <header>
        <h2>{at === null ? "Now" : "At an instant"}</h2>
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            const found = typed === null ? null : readInstant(typed, q.time);
            if (found !== null) move(found);
            if (!wrong) setTyped(null);
          }}
        >
          <label className="visually-hidden" htmlFor="instant">Instant</label>
          <input id="instant" className="mono" size={28} value={typed ?? showInstant(shown, q.time)} aria-invalid={wrong} onChange={(event) => setTyped(event.target.value)} onBlur={() => !wrong && setTyped(null)} />
        </form>
        <div className="row">
          <button disabled={before === null} onClick={() => move(before)} title="Previous change (Alt+Left)">Previous change</button>
          <button disabled={after === null} onClick={() => move(after)} title="Next change (Alt+Right)">Next change</button>
          <button aria-pressed={at === null} onClick={() => move(null)}>Live</button>
        </div>
        <span className="grow" />
        <span className="muted small">{plural(instants.length, "instant")} with changes{told.whole ? "" : ", the latest of them"}</span>
      </header>
      <div className="inside slider">
        <input
          type="range"
          aria-label="Instant"
          aria-valuetext={showInstant(shown, q.time)}
          min={begin}
          max={until}
          step={step}
          value={Math.min(Math.max(shown, begin), until)}
          onChange={(event) => move(Math.min(Number(event.target.value), until), true)}
          onKeyDown={(event) => {
            if (!event.altKey || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
            event.preventDefault();
            const to = event.key === "ArrowLeft" ? before : after;
            if (to !== null) move(to);
          }}
        />
        <Ticks begin={begin} until={until} instants={instants} />
        <div className="row small muted mono">
          <span>{showInstant(begin, q.time)}</span>
          <span className="grow" />
          <span>{showInstant(until, q.time)}</span>
        </div>
        {outside && <div className="notice warn">This instant is outside of what is closed and kept.</div>}
      </div>
    </section>
  );
}

function Ticks({ begin, until, instants }: { begin: number; until: number; instants: number[] }) {
  const places = useMemo(() => ticksOf(begin, until, instants, 300), [begin, until, instants]);
  return (
    <svg width="100%" height="8" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
      <path d={places.map((x) => `M${(8 + x * 984).toFixed(1)} 0V8`).join("")} stroke="var(--line-strong)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

function Answer({ of: q, at, told }: { of: QueryInfo; at: number | null; told: History | null }) {
  const instant = at === null ? null : showInstant(at, q.time);
  const content = useLoaded((signal) => snapshot(q.name, instant, signal), [q.name, instant], at === null ? 1000 : undefined);
  const shown = useChanges(content.value, at === null, instant);
  const isStream = q.answer === "stream";
  const [refused, setRefused] = useState<Problem[]>([]);
  const [side, setSide] = useState<"changes" | "windows">("changes");
  return (
    <div className="split">
      <div className="stack" style={{ gap: 14 }}>
        <section className="panel">
          <header>
            <h2>{isStream ? "The relation behind the stream" : "Answer"}</h2>
            {content.value && <span className="muted small">{plural(content.value.total, "row")}{content.value.total > content.value.rows.length ? `, the first ${content.value.rows.length} of them` : ""} at <span className="mono">{String(content.value.at)}</span></span>}
            <span className="grow" />
            {content.value && <button className="plain small" onClick={() => saved(`${path(q.name)}/snapshot?at=${encodeURIComponent(String(content.value!.at))}`, `${q.name}.csv`).catch((error: unknown) => setRefused(problemsOf(error)))}>Save as CSV</button>}
          </header>
          {content.problems.length + refused.length > 0 && <div className="inside"><Problems of={[...content.problems, ...refused]} /></div>}
          {!content.value ? content.loading && <Waiting what="the answer" /> : shown.length === 0 ? <Empty title="It holds no row at this instant." /> : <div className="tall"><RowsTable label="Answer" columns={q.columns} rows={shown} /></div>}
        </section>
        <Plots of={q} told={told} at={at} />
      </div>
      <section className="panel">
        <header>
          <div className="tabs" role="tablist" aria-label="Beside the answer">
            <button role="tab" id="tab-changes" aria-selected={side === "changes"} onClick={() => setSide("changes")}>{isStream ? "Elements" : "Changes"}</button>
            <button role="tab" id="tab-windows" aria-selected={side === "windows"} onClick={() => setSide("windows")}>Windows</button>
          </div>
        </header>
        <div role="tabpanel" aria-labelledby={`tab-${side}`}>
          {side === "changes" ? <Latest of={q} told={told} at={at} /> : <Windows of={q} at={instant} />}
        </div>
      </section>
    </div>
  );
}

/** The rows of a content; in live mode those that differ from the content before are marked. */
function useChanges(content: Content | null, live: boolean, instant: string | null): ShownRow[] {
  const before = useRef<{ rows: Row[]; at: unknown; live: boolean } | null>(null);
  const [shown, setShown] = useState<ShownRow[]>([]);
  useEffect(() => {
    if (!content) return;
    const last = before.current;
    const comparable = last !== null && live === last.live;
    if (comparable && last.at === content.at) return;
    setShown(compare(comparable ? last.rows : null, content.rows));
    before.current = { rows: content.rows, at: content.at, live };
  }, [content, live, instant]);
  return shown;
}

function Plots({ of: q, told, at }: { of: QueryInfo; told: History | null; at: number | null }) {
  const [instants, spread] = useMemo(() => upTo(told), [told]);
  if (!told || told.instants.length < 2) return null;
  const drawn: { title: string; lines: Line[] }[] = told.series.map((series) => {
    const alike = series.least.every((value, index) => value === series.greatest[index]);
    return {
      title: series.name,
      lines: alike ? [{ name: series.name, values: spread(series.greatest) }] : [{ name: `greatest ${series.name}`, values: spread(series.greatest) }, { name: `least ${series.name}`, values: spread(series.least) }],
    };
  });
  const varying = new Set(told.counts).size > 1;
  if (q.answer !== "stream" && varying) drawn.push({ title: "rows", lines: [{ name: "rows", values: spread(told.counts) }] });
  if (!drawn.length) return null;
  return (
    <section className="panel">
      <header>
        <h2>Over time</h2>
        <span className="muted small">a click shows the answer at that instant</span>
      </header>
      <div className="inside plots">
        {drawn.slice(0, 6).map((one) => (
          <Plot key={one.title} instants={instants} lines={one.lines} domain={told.domain} at={at} onPick={(t) => go(address(["queries", q.name], { at: showInstant(t, q.time) }))} />
        ))}
      </div>
    </section>
  );
}

/** The instants up to the last one that is closed: what a relation holds stays until then. */
function upTo(told: History | null): [number[], (values: (number | null)[]) => (number | null)[]] {
  if (!told || told.begin === null || told.until === null) return [told?.instants ?? [], (values) => values];
  const begin = outset(told.begin, told.until, told.instants);
  // what holds since long before is drawn from where the slider begins
  const first = told.instants[0] !== undefined && told.instants[0] < begin ? [begin, ...told.instants.slice(1)] : told.instants;
  const last = first.at(-1);
  const goesOn = last !== undefined && told.until > last;
  return [goesOn ? [...first, told.until] : first, (values) => (goesOn ? [...values, values.at(-1) ?? null] : values)];
}

function Latest({ of: q, told, at }: { of: QueryInfo; told: History | null; at: number | null }) {
  if (!told) return <Waiting what="changes" />;
  const found = told.latest.filter((change) => at === null || change.t <= at).slice(-60).reverse();
  if (!found.length) return <Empty title="Nothing has changed yet." />;
  return (
    <div className="scroll tall" role="region" aria-label="Latest changes" tabIndex={0}>
      <table className="data">
        <tbody>
          {found.map((change, index) => (
            <tr key={`${change.t}:${index}`}>
              <td className="muted" title={showInstant(change.t, q.time)}>{showTime(change.t, q.time)}</td>
              <td className="sign"><span className={`tag ${change.op === "-" ? "bad" : "good"}`}>{change.op ?? "+"}</span></td>
              <td style={{ whiteSpace: "normal" }}>{Object.entries(change.row).map(([name, value]) => <span key={name}><span className="muted">{name}</span> {cell(value)}{"  "}</span>)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Windows({ of: q, at }: { of: QueryInfo; at: string | null }) {
  const found = useLoaded((signal) => windows(q.name, at, signal), [q.name, at]);
  if (found.problems.length) return <div className="inside" style={{ padding: 12 }}><Problems of={found.problems} /></div>;
  if (!found.value) return <Waiting what="windows" />;
  if (!found.value.windows.length) return <Empty title="This query has no window." />;
  return (
    <div className="stack" style={{ padding: "8px 0" }}>
      {found.value.windows.map((window, index) => (
        <div key={index}>
          <div className="row wrap" style={{ padding: "4px 12px" }}>
            <strong>{window.source}</strong>
            <span className="mono">{window.window}</span>
            {window.why === null && <span className="muted small">{plural(window.total, "row")}</span>}
          </div>
          {window.why !== null ? (
            <p className="muted small" style={{ padding: "0 12px" }}>{window.why}</p>
          ) : window.rows.length === 0 ? (
            <p className="muted small" style={{ padding: "0 12px" }}>It is empty at this instant.</p>
          ) : (
            <div className="short"><RowsTable label={`Window of ${window.source}`} columns={window.columns} rows={compare(null, window.rows)} most={100} /></div>
          )}
        </div>
      ))}
      {at === null && <div style={{ padding: "0 12px" }}><button onClick={found.again}>Look again</button></div>}
    </div>
  );
}

