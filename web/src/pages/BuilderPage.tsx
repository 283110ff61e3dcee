import { ReactFlowProvider } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, post, problemsOf, query as path, type CatalogEntry, type Column, type Done, type Problem, type QueryInfo } from "../api";
import { address, useLoaded, usePlace, useTitle } from "../hooks";
import { Empty, Problems } from "../parts/basics";
import { BuilderCanvas, type Told } from "../parts/BuilderCanvas";
import { NodeForm } from "../parts/NodeForm";
import { RowsTable } from "../parts/RowsTable";
import { added, byId, EMPTY, fromJson, KINDS, linesOf, PALETTE, removed, toJson, type Kind, type Plan, type PlanJson } from "../pure/builder";
import { plural } from "../pure/format";
import { showInstant, showTime, type TimeDomain } from "../pure/instants";
import { layout } from "../pure/layout";
import { compare, type Row } from "../pure/rows";

const KEPT = "continua-builder";

interface GraphChecked {
  nodes: { id: string; kind: string; columns: Column[]; errors: Problem[] }[];
  sql: string | null;
  errors: Problem[];
}

interface Sample {
  at: number;
  shown: number | string;
  domain: TimeDomain;
  instants: number[];
  edges: { id: string; columns: string[]; rows: Row[]; total: number; instants: number[] }[];
  errors: Problem[];
}

type Side = "operator" | "sql" | "rows";

export function BuilderPage() {
  useTitle("Builder");
  const { asked } = usePlace();
  const [plan, setPlan] = useState<Plan>(() => kept());
  const past = useRef<Plan[]>([]);
  const [selected, setSelected] = useState<string | null>(null);
  const [side, setSide] = useState<Side>("operator");
  const [checked, setChecked] = useState<GraphChecked | null>(null);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [sample, setSample] = useState<Sample | null>(null);
  const [sampling, setSampling] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const [registered, setRegistered] = useState<string | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const [fit, setFit] = useState(0);
  const catalog = useLoaded((signal) => get<{ entries: CatalogEntry[] }>("/api/catalog", signal), [], 5000);

  const change = useCallback((next: Plan, remember = true) => {
    setPlan((now) => {
      if (remember && JSON.stringify(toJson(now)) !== JSON.stringify(toJson(next))) past.current = [...past.current.slice(-49), now];
      return next;
    });
    setRegistered(null);
  }, []);
  const graph = useMemo(() => JSON.stringify(toJson(plan)), [plan]);

  useEffect(() => sessionStorage.setItem(KEPT, JSON.stringify(plan)), [plan]);
  useEffect(() => {
    const control = new AbortController();
    const timer = window.setTimeout(async () => {
      try {
        setChecked(await post<GraphChecked>("/api/builder/check", JSON.parse(graph), control.signal));
        setProblems([]);
      } catch (error) {
        if (!control.signal.aborted) setProblems(problemsOf(error));
      }
    }, 200);
    return () => {
      control.abort();
      window.clearTimeout(timer);
    };
  }, [graph]);
  const hasNodes = plan.nodes.length > 0;
  useEffect(() => {
    if (!sampling || !hasNodes) {
      setSample(null);
      return;
    }
    const control = new AbortController();
    const timer = window.setTimeout(async () => {
      try {
        const found = await post<Sample>("/api/builder/sample", { ...JSON.parse(graph), at }, control.signal);
        setSample(found);
        setProblems([]);
      } catch (error) {
        if (!control.signal.aborted) setProblems(problemsOf(error));
      }
    }, 250);
    return () => {
      control.abort();
      window.clearTimeout(timer);
    };
  }, [graph, sampling, at, hasNodes]);

  const tidy = useCallback(async (next: Plan) => {
    const drawing = {
      nodes: next.nodes.map((node) => ({ id: node.id, title: `${KINDS[node.kind].title}      `, lines: [...linesOf(node), "stream"], kind: "" })),
      edges: next.nodes.flatMap((node) => node.inputs.flatMap((input, port) => (input ? [{ id: `${input.node}>${node.id}>${port}`, source: input.node, target: node.id, port }] : []))),
    };
    const sizes = new Map(next.nodes.map((node) => [node.id, { width: 190, height: 66 + linesOf(node).reduce((sum, line) => sum + 17 * Math.ceil(line.length / 25), 0) }]));
    const places = await layout(drawing, sizes);
    change({ nodes: next.nodes.map((node) => ({ ...node, x: places.get(node.id)?.x ?? node.x, y: places.get(node.id)?.y ?? node.y })) });
    setFit((n) => n + 1);
  }, [change]);
  const draw = useCallback(async (sql: string) => {
    try {
      const found = fromJson(await post<PlanJson>("/api/builder/graph", { sql }));
      await tidy(found);
      setSelected(null);
      setTyped(null);
      setProblems([]);
    } catch (error) {
      setProblems(problemsOf(error));
    }
  }, [tidy]);

  const wanted = asked.get("sql");
  const name = asked.get("query");
  useEffect(() => {
    if (wanted) void draw(wanted);
    else if (name) void get<QueryInfo>(path(name)).then((found) => draw(found.sql || found.expanded), (error) => setProblems(problemsOf(error)));
  }, [wanted, name, draw]);

  const told = useMemo(() => new Map<string, Told>((checked?.nodes ?? []).map((node) => [node.id, { kind: node.kind, errors: node.errors }])), [checked]);
  const columns = useMemo(() => new Map((checked?.nodes ?? []).map((node) => [node.id, node.columns])), [checked]);
  const rows = useMemo(() => new Map((sample?.edges ?? []).map((edge) => [edge.id, edge.total])), [sample]);
  const node = byId(plan, selected);

  const add = (kind: Kind) => {
    const from = node;
    const reads = KINDS[kind].inputs > 0 && from && from.kind !== "sink" ? from.id : null;
    const place = reads && from ? { x: from.x, y: from.y + 110 } : { x: 40 + (plan.nodes.length % 3) * 210, y: 20 + Math.floor(plan.nodes.length / 3) * 30 };
    while (plan.nodes.some((other) => Math.abs(other.x - place.x) < 150 && Math.abs(other.y - place.y) < 70)) place.x += 210;
    const found = added(plan, kind, reads, place);
    change(found.plan);
    setSelected(found.id);
    setSide("operator");
    setFit((n) => n + 1);
  };
  const remove = (id: string) => {
    change(removed(plan, id));
    setSelected(null);
  };
  const register = async () => {
    if (!checked?.sql) return;
    try {
      const { outcomes } = await post<{ outcomes: Done[] }>("/api/statements", { sql: checked.sql });
      setRegistered(outcomes.at(-1)?.query ?? null);
      setProblems([]);
    } catch (error) {
      setProblems(problemsOf(error));
    }
  };
  const wrong = (checked?.nodes ?? []).filter((one) => one.errors.length > 0).length;
  const tabs: [Side, string][] = [["operator", "Operator"], ["sql", "SQL"], ["rows", "Rows"]];
  return (
    <>
      <div className="head">
        <h1>Builder</h1>
        <span className="muted small" role="status">
          {!hasNodes ? "" : wrong ? `${plural(wrong, "operator")} with mistakes` : checked?.sql ? "nothing is wrong with it" : ""}
        </span>
        <span className="grow" />
        <button disabled={!past.current.length} onClick={() => { const before = past.current.pop(); if (before) { setPlan(before); setSelected(null); } }}>Undo</button>
        <button disabled={!hasNodes} onClick={() => void tidy(plan)}>Tidy up</button>
        <button disabled={!hasNodes} onClick={() => { change(EMPTY); setSelected(null); setSampling(false); }}>Clear</button>
        <button aria-pressed={sampling} disabled={!hasNodes} onClick={() => { setSampling(!sampling); setAt(null); if (!sampling) setSide("rows"); }}>Run on a sample</button>
        <button className="primary" disabled={!checked?.sql} onClick={register}>Register</button>
      </div>
      <div className="body fill building">
        <section className="panel palette" aria-label="Operators">
          {PALETTE.map((kind) => (
            <button key={kind} className="plain" title={KINDS[kind].told} onClick={() => add(kind)}>{KINDS[kind].title}</button>
          ))}
        </section>
        <section className="panel canvas">
          {registered && <div className="notice good over" role="status"><span>Query <a href={address(["queries", registered])}>{registered}</a> is live.</span></div>}
          {problems.length + (checked?.errors.length ?? 0) > 0 && <div className="over"><Problems of={[...problems, ...(checked?.errors ?? [])]} /></div>}
          <div className="graph">
            <ReactFlowProvider>
              <BuilderCanvas plan={plan} told={told} rows={rows} selected={selected} onSelect={(id) => { setSelected(id); if (id && side === "sql") setSide("operator"); }} onChange={change} onRemove={remove} fit={fit} />
            </ReactFlowProvider>
            {!hasNodes && <div className="hint"><Empty title="The canvas is empty."><span>Add a source and go on from there, or paste a query under SQL.</span></Empty></div>}
          </div>
        </section>
        <section className="panel planned">
          <header>
            <div className="tabs" role="tablist" aria-label="Beside the canvas">
              {tabs.map(([key, title]) => <button key={key} role="tab" id={`build-${key}`} aria-selected={side === key} onClick={() => setSide(key)}>{title}</button>)}
            </div>
          </header>
          <div className="space inside" role="tabpanel" aria-labelledby={`build-${side}`} style={{ overflow: "auto", padding: 12 }}>
            {side === "operator" && (node ? (
              <NodeForm key={node.id} plan={plan} node={node} entries={catalog.value?.entries ?? []} columns={columns} problems={told.get(node.id)?.errors ?? []} onChange={change} onRemove={() => remove(node.id)} />
            ) : <Empty title="No operator is chosen."><span>Choose one on the canvas to see its properties. What is added reads the one that is chosen.</span></Empty>)}
            {side === "sql" && <SqlSide sql={checked?.sql ?? null} typed={typed} onTyped={setTyped} onDraw={draw} />}
            {side === "rows" && <RowsSide sample={sample} sampling={sampling} plan={plan} selected={selected} onAt={setAt} />}
          </div>
        </section>
      </div>
    </>
  );
}

function SqlSide({ sql, typed, onTyped, onDraw }: { sql: string | null; typed: string | null; onTyped: (text: string | null) => void; onDraw: (sql: string) => void }) {
  const shown = typed ?? sql ?? "";
  return (
    <div className="stack" style={{ height: "100%", gridTemplateRows: "minmax(200px, 1fr) auto" }}>
      <label className="field" style={{ gridTemplateRows: "auto minmax(0, 1fr)" }}>
        <span>The query as text: paste one to have it drawn</span>
        <textarea className="mono" spellCheck={false} value={shown} placeholder="SELECT ... FROM ..." onChange={(event) => onTyped(event.target.value)} />
      </label>
      <div className="row end">
        {typed !== null && <button onClick={() => onTyped(null)}>Back to the canvas</button>}
        <a className="button" href={address(["editor"], {})} onClick={() => sessionStorage.setItem("continua-editor", shown)}>Open in the editor</a>
        <button className="primary" disabled={typed === null || !typed.trim()} onClick={() => onDraw(shown)}>Draw it</button>
      </div>
    </div>
  );
}

function RowsSide({ sample, sampling, plan, selected, onAt }: { sample: Sample | null; sampling: boolean; plan: Plan; selected: string | null; onAt: (at: number) => void }) {
  if (!sampling) return <Empty title="Nothing was run."><span>Run on a sample shows what each operator makes of the first rows of the sources.</span></Empty>;
  if (!sample) return <Empty title="There is no sample yet."><span>It is taken as soon as an operator is right.</span></Empty>;
  const last = plan.nodes.at(-1);
  const chosen = byId(plan, selected) ?? plan.nodes.find((one) => one.kind === "sink") ?? last ?? null;
  const edge = sample.edges.find((one) => one.id === chosen?.id);
  const { instants } = sample;
  const index = instants.findLastIndex((instant) => instant <= sample.at);
  return (
    <div className="stack">
      {instants.length === 0 ? (
        <div className="notice warn">The sources have no rows yet that could be looked at.</div>
      ) : (
        <>
          <label className="field">
            <span>Instant: <span className="mono">{showInstant(sample.at, sample.domain)}</span></span>
            <input type="range" min={0} max={instants.length - 1} value={Math.max(index, 0)} aria-valuetext={showInstant(sample.at, sample.domain)} onChange={(event) => onAt(instants[Number(event.target.value)]!)} />
          </label>
        </>
      )}
      <Problems of={sample.errors} />
      {chosen && <div className="row"><strong>{KINDS[chosen.kind].title} {chosen.id}</strong>{edge && <span className="muted small">{plural(edge.total, "row")}</span>}</div>}
      {edge ? edge.rows.length === 0 ? <p className="muted">It yields no row at this instant.</p> : (
        <div className="panel"><RowsTable label={`Rows of ${chosen?.id}`} columns={[...(edge.instants.length ? [{ name: "\u23f1", type: "TIMESTAMP" }] : []), ...edge.columns.map((name) => ({ name, type: edge.rows.every((row) => typeof row[name] === "number") ? "DOUBLE" : "STRING" }))]} rows={compare(null, edge.rows.map((row, place) => (edge.instants.length ? { "\u23f1": showTime(edge.instants[place]!, sample.domain), ...row } : row)))} most={50} /></div>
      ) : <p className="muted">Nothing is known of it yet.</p>}
    </div>
  );
}

function kept(): Plan {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
    return found && typeof found === "object" && "nodes" in found ? (found as Plan) : EMPTY;
  } catch {
    return EMPTY;
  }
}
