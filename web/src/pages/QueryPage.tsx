import { lazy, Suspense, useState } from "react";
import { get, post, problemsOf, query as path, type Problem, type QueryInfo } from "../api";
import { address, useLoaded, usePlace, useTitle } from "../hooks";
import { Problems, State, Tabs, Waiting } from "../parts/basics";
import { AnswerTab } from "./AnswerTab";

const PlanTab = lazy(() => import("./PlanTab").then((m) => ({ default: m.PlanTab })));

export function QueryPage({ name, tab }: { name: string; tab: string }) {
  useTitle(name);
  const found = useLoaded((signal) => get<QueryInfo>(path(name), signal), [name], 1000);
  const [problems, setProblems] = useState<Problem[]>([]);
  const place = usePlace();
  const q = found.value;
  const act = async (work: () => Promise<unknown>) => {
    try {
      await work();
      setProblems([]);
    } catch (error) {
      setProblems(problemsOf(error));
    }
    found.again();
  };
  const tabs = [
    ["answer", "Answer", address(["queries", name])],
    ["plan", "Plan", address(["queries", name, "plan"])],
    ["text", "Text", address(["queries", name, "text"])],
  ] as const;
  return (
    <>
      <div className="head">
        <h1>
          <a href="#/" className="muted">Queries</a> / {name}
        </h1>
        {q && <State of={q.state} />}
        {q && <span className="tag">{q.answer}</span>}
        {q?.sink && <span className="tag">into {q.sink}</span>}
        <Tabs label="Views of the query" tabs={tabs} at={tab} />
        <span className="grow" />
        {q && <a className="button" href={address(["builder"], { query: name })}>Open in the builder</a>}
        {q?.state === "live" && <button onClick={() => act(() => post(`${path(name)}/stop`))}>Stop</button>}
        {q && q.state !== "live" && <button className="primary" onClick={() => act(() => post(`${path(name)}/start`))}>Start</button>}
      </div>
      <div className={`body ${tab === "plan" ? "fill" : ""}`}>
        {(problems.length > 0 || found.problems.length > 0) && <Problems of={[...problems, ...found.problems]} />}
        {q?.failure && <Problems of={[q.failure]} />}
        {!q ? found.loading && <Waiting what="the query" /> : tab === "plan" ? (
          <Suspense fallback={<Waiting what="the plan" />}>
            <PlanTab of={q} />
          </Suspense>
        ) : tab === "text" ? (
          <TextTab of={q} />
        ) : (
          <AnswerTab of={q} at={place.asked.get("at")} />
        )}
      </div>
    </>
  );
}

function TextTab({ of: q }: { of: QueryInfo }) {
  return (
    <>
      <section className="panel">
        <header>
          <h2>As it was registered</h2>
          <span className="grow" />
          <a className="button" href={address(["editor"], { query: q.name })}>Open in the editor</a>
        </header>
        <div className="inside"><pre>{q.sql || q.expanded}</pre></div>
      </section>
      <section className="panel">
        <header><h2>With all defaults</h2></header>
        <div className="inside"><pre>{q.expanded}</pre></div>
      </section>
      <section className="panel">
        <header><h2>Columns of its answer</h2></header>
        <div className="scroll">
          <table className="data"><tbody>{q.columns.map((c) => <tr key={c.name}><td>{c.name}</td><td className="muted">{c.type}</td><td style={{ width: "100%" }} /></tr>)}</tbody></table>
        </div>
      </section>
    </>
  );
}
