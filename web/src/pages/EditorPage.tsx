import { useCallback, useEffect, useMemo, useState } from "react";
import { get, post, problemsOf, query as path, type CatalogEntry, type Done, type Problem, type QueryInfo } from "../api";
import { checked, plansOf, verify, words, type Plans, type Verified } from "../console";
import { address, useLoaded, usePlace, useTitle } from "../hooks";
import { Empty, Problems, Waiting } from "../parts/basics";
import { PlanView, type Stage } from "../parts/PlanView";
import { RowsTable } from "../parts/RowsTable";
import { SqlEditor, type Known } from "../parts/SqlEditor";
import { cell, plural } from "../pure/format";
import { compare } from "../pure/rows";

const KEPT = "continua-editor";
type Side = Stage | "results" | "verify";

export function useKnown(): Known | null {
  const catalog = useLoaded((signal) => get<{ entries: CatalogEntry[] }>("/api/catalog", signal), [], 5000);
  const language = useLoaded(words, []);
  return useMemo(
    () => (catalog.value && language.value ? { entries: catalog.value.entries, words: language.value.functions, keywords: language.value.keywords } : null),
    [catalog.value, language.value],
  );
}

export function EditorPage() {
  useTitle("Editor");
  const { asked } = usePlace();
  const name = asked.get("query");
  const [text, setText] = useState(() => sessionStorage.getItem(KEPT) ?? "");
  const [problems, setProblems] = useState<Problem[]>([]);
  const [outcomes, setOutcomes] = useState<Done[] | null>(null);
  const [failed, setFailed] = useState<Problem[]>([]);
  const [side, setSide] = useState<Side>("logical");
  const [step, setStep] = useState(0);
  const [plans, setPlans] = useState<Plans | null>(null);
  const [told, setTold] = useState<Verified | null>(null);
  const [busy, setBusy] = useState<"" | "run" | "verify">("");
  const known = useKnown();

  useEffect(() => {
    if (!name) return;
    void get<QueryInfo>(path(name)).then((found) => setText(bare(found.sql || found.expanded)), () => undefined);
  }, [name]);
  useEffect(() => sessionStorage.setItem(KEPT, text), [text]);

  const check = useCallback(async (sql: string) => {
    try {
      const { errors } = await checked(sql);
      setProblems(errors);
      if (errors.length === 0 && /\bselect\b/i.test(sql)) {
        try {
          setPlans(await plansOf(sql));
        } catch {
          setPlans(null);
        }
      }
      return errors;
    } catch (error) {
      const found = problemsOf(error);
      setProblems(found);
      return found;
    }
  }, []);

  const run = async () => {
    if (!text.trim() || busy) return;
    setBusy("run");
    setSide("results");
    try {
      setOutcomes((await post<{ outcomes: Done[] }>("/api/statements", { sql: text })).outcomes);
      setFailed([]);
    } catch (error) {
      setOutcomes(null);
      setFailed(problemsOf(error));
    }
    setBusy("");
  };
  const compareNow = async () => {
    setBusy("verify");
    setSide("verify");
    setTold(null);
    try {
      setTold(await verify(text));
      setFailed([]);
    } catch (error) {
      setFailed(problemsOf(error));
    }
    setBusy("");
  };
  const tabs: [Side, string][] = [["logical", "Logical"], ["rewrites", "Rewritten"], ["physical", "Physical"], ["verify", "Verify"], ["results", "Results"]];
  const wrong = problems.length > 0;
  return (
    <>
      <div className="head">
        <h1>Editor</h1>
        <span className="grow" />
        <button disabled={!text.trim() || wrong || busy !== ""} onClick={compareNow} title="Compare the engine with the reference on the first rows of the sources">Verify</button>
        <a className="button" aria-disabled={wrong} href={address(["builder"], { sql: text })}>Open in the builder</a>
        <button className="primary" disabled={!text.trim() || busy !== ""} onClick={run} title="Ctrl+Enter">{busy === "run" ? "Running" : "Run"}</button>
      </div>
      <div className="body fill editing">
        <section className="panel writing">
          <SqlEditor value={text} onChange={setText} check={check} known={known} onRun={run} />
          <div className="told">
            {wrong ? <Problems of={problems} /> : text.trim() ? <span className="muted small">nothing is wrong with it</span> : <span className="muted small">Ctrl+Space completes, Ctrl+Enter runs</span>}
          </div>
        </section>
        <section className="panel planned">
          <header>
            <div className="tabs" role="tablist" aria-label="Beside the text">
              {tabs.map(([key, title]) => (
                <button key={key} role="tab" id={`side-${key}`} aria-selected={side === key} onClick={() => setSide(key)}>{title}</button>
              ))}
            </div>
          </header>
          <div className="space" role="tabpanel" aria-labelledby={`side-${side}`} style={{ overflow: "auto" }}>
            {side === "results" ? (
              busy === "run" ? <Waiting what="the results" /> : failed.length ? <div style={{ padding: 12 }}><Problems of={failed} /></div> : outcomes ? <Outcomes of={outcomes} /> : <Empty title="Nothing was run yet."><span>What is registered is live from then on.</span></Empty>
            ) : side === "verify" ? (
              busy === "verify" ? <Waiting what="both answers" /> : failed.length ? <div style={{ padding: 12 }}><Problems of={failed} /></div> : <Verification of={told} />
            ) : plans ? (
              <PlanView plans={plans} stage={side} step={step} onStep={setStep} />
            ) : (
              <Empty title="There is no plan yet."><span>It is shown as soon as there is a query without mistakes.</span></Empty>
            )}
          </div>
          {plans && plans.notes.length + plans.defaults.length > 0 && !["results", "verify"].includes(side) && (
            <div className="told" style={{ borderTop: "1px solid var(--line)" }}>
              {plans.notes.map((note) => <div className="notice warn" key={note.message}>{note.message}</div>)}
              {plans.defaults.map((note) => <span className="muted small" key={note}>{note}</span>)}
            </div>
          )}
        </section>
      </div>
    </>
  );
}

/** The query itself, without the words that register it. */
function bare(sql: string): string {
  return sql.replace(/^\s*REGISTER\s+QUERY\b.*?\bAS\s+/is, "");
}

function Outcomes({ of }: { of: Done[] }) {
  if (!of.length) return <Empty title="There was no statement." />;
  return (
    <div className="stack" style={{ padding: 12 }}>
      {of.map((one, index) => (
        <div key={index} className="stack">
          {one.query ? (
            <div className="notice good">
              <span>Query <a href={address(["queries", one.query])}>{one.query}</a> is live.</span>
            </div>
          ) : one.message ? <div className="notice">{one.message}</div> : null}
          {one.content && <div className="panel"><RowsTable label="Content" columns={one.content.columns} rows={compare(null, one.content.rows)} /></div>}
          {one.header && one.table && (
            <div className="panel scroll">
              <table className="data">
                <thead><tr>{one.header.map((title) => <th key={title}>{title}</th>)}</tr></thead>
                <tbody>{one.table.map((row, place) => <tr key={place}>{row.map((value, n) => <td key={n}>{cell(value)}</td>)}</tr>)}</tbody>
              </table>
            </div>
          )}
          {one.text && <pre className="panel" style={{ padding: 12 }}>{one.text}</pre>}
          {one.notices?.map((notice) => <span className="muted small" key={notice.message}>{notice.message}</span>)}
        </div>
      ))}
    </div>
  );
}

function Verification({ of: told }: { of: Verified | null }) {
  if (!told) return <Empty title="Verify compares two answers."><span>The engine's with that of the reference, which computes every instant from the definitions, over the first rows of the sources.</span></Empty>;
  return (
    <div className="stack" style={{ padding: 12 }}>
      <div className={`notice ${told.agrees ? "good" : "bad"}`} role="status">
        <strong>{told.agrees ? "Engine and reference agree." : "Engine and reference do not agree."}</strong>
        <span>{plural(told.rows, "row")} of the sources, {plural(told.instants, "instant")} with changes</span>
      </div>
      {told.queries.map((one) => <div key={one.name}><strong>{one.name}</strong>: {one.told}</div>)}
    </div>
  );
}
