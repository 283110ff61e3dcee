import { useState } from "react";
import { get, post, problemsOf, query, remove, type Problem, type QueryInfo } from "../api";
import { progress, type Sample } from "../console";
import { address, useLoaded, useTitle } from "../hooks";
import { Empty, Problems, Sparkline, State, Waiting } from "../parts/basics";
import { bytes, count, plural, seconds } from "../pure/format";
import { showInstant } from "../pure/instants";
import { ratesOf } from "../pure/rates";

export function QueriesPage() {
  useTitle("Queries");
  const queries = useLoaded((signal) => get<{ queries: QueryInfo[] }>("/api/queries", signal), [], 1000);
  const samples = useLoaded(progress, [], 1000);
  const [problems, setProblems] = useState<Problem[]>([]);
  const known = new Map(samples.value?.queries.map((q) => [q.name, q]));
  const found = queries.value?.queries ?? [];
  const act = async (work: () => Promise<unknown>) => {
    try {
      await work();
      setProblems([]);
    } catch (error) {
      setProblems(problemsOf(error));
    }
    queries.again();
  };
  const live = found.filter((q) => q.state === "live").length;
  return (
    <>
      <div className="head">
        <h1>Queries</h1>
        {queries.value && <span className="muted">{plural(found.length, "query", "queries")}, {live} live</span>}
        <span className="grow" />
        <a className="button" href="#/editor">Write a query</a>
        <a className="button" href="#/builder">Build a query</a>
      </div>
      <div className="body">
        <Problems of={[...problems, ...queries.problems]} />
        <section className="panel">
          {queries.value === null && queries.loading ? (
            <Waiting what="queries" />
          ) : found.length === 0 ? (
            <Empty title="No query is registered.">
              <span>Write one in the editor, or draw one in the builder. It is live from then on.</span>
            </Empty>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>State</th>
                    <th className="number">Rows in /s</th>
                    <th className="number">Changes /s</th>
                    <th className="number">Latency</th>
                    <th className="number">Lag</th>
                    <th className="number">State held</th>
                    <th>Closed until</th>
                    <th>
                      <span className="visually-hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.map((q) => (
                    <QueryRow key={q.name} of={q} samples={known.get(q.name)?.samples ?? []} held={known.get(q.name)?.stateBytes ?? 0} act={act} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </section>
      </div>
    </>
  );
}

function QueryRow({ of: q, samples, held, act }: { of: QueryInfo; samples: Sample[]; held: number; act: (work: () => Promise<unknown>) => Promise<void> }) {
  const rates = ratesOf(samples);
  const isLive = q.state === "live";
  const [asking, setAsking] = useState(false);
  return (
    <tr>
      <td className="named">
        <a href={address(["queries", q.name])}>
          <strong>{q.name}</strong>
        </a>
        {q.group && <span className="tag" style={{ marginLeft: 6 }}>{q.group}</span>}
        {q.failure && <div className="small" style={{ color: "var(--bad)", whiteSpace: "normal", minWidth: 180 }}>{q.failure.message}</div>}
      </td>
      <td className="nowrap">
        <State of={q.state} /> <span className="tag">{q.answer}</span>
        {q.ended && <span className="muted small"> at its end</span>}
      </td>
      <Metric values={rates.rowsIn} text={isLive ? count(rates.rowsIn.at(-1) ?? 0) : ""} label={`Rows in of ${q.name}`} />
      <Metric values={rates.rowsOut} text={isLive ? count(rates.rowsOut.at(-1) ?? 0) : ""} label={`Changes of ${q.name}`} />
      <Metric values={samples.map((s) => s.seconds)} text={isLive && samples.length ? seconds(samples.at(-1)!.seconds) : ""} label={`Latency of ${q.name}`} />
      <Metric values={samples.map((s) => s.lag ?? 0)} text={isLive && q.lag !== null ? (q.time === "ticks" ? count(q.lag) : seconds(Math.max(q.lag, 0) / 1e6)) : ""} label={`Lag of ${q.name}`} />
      <Metric values={samples.map((s) => s.stateBytes)} text={isLive ? bytes(held) : ""} label={`State of ${q.name}`} />
      <td className="nowrap mono">{q.until === null ? (isLive ? <span className="muted">{q.ended ? "the end" : "nothing yet"}</span> : "") : typeof q.until === "number" ? showInstant(q.until, q.time) : <span title={q.until}>{q.until.slice(0, 19).replace("T", " ")}</span>}</td>
      <td>
        <div className="row end">
          {isLive ? (
            <button onClick={() => act(() => post(`${query(q.name)}/stop`))}>Stop<span className="visually-hidden"> {q.name}</span></button>
          ) : (
            <button onClick={() => act(() => post(`${query(q.name)}/start`))}>Start<span className="visually-hidden"> {q.name}</span></button>
          )}
          {asking ? (
            <>
              <button className="danger" autoFocus onClick={() => act(() => remove(query(q.name)))} onBlur={() => setAsking(false)}>Drop it and its answers<span className="visually-hidden"> {q.name}</span></button>
            </>
          ) : (
            <button className="plain" onClick={() => setAsking(true)}>Drop<span className="visually-hidden"> {q.name}</span></button>
          )}
        </div>
      </td>
    </tr>
  );
}

function Metric({ values, text, label }: { values: number[]; text: string; label: string }) {
  return (
    <td>
      <div className="metric">
        {text && <Sparkline values={values.slice(-60)} label={`${label}: ${text}`} width={36} height={20} />}
        <span className="value">{text}</span>
      </div>
    </td>
  );
}
