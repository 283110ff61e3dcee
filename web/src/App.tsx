import { lazy, Suspense, useEffect, useState } from "react";
import { get, setToken } from "./api";
import { address, systemTheme, useLoaded, usePlace, useTheme } from "./hooks";
import { Waiting } from "./parts/basics";
import { QueriesPage } from "./pages/QueriesPage";
import mark from "./assets/mark.svg";
import { QueryPage } from "./pages/QueryPage";

const GraphPage = lazy(() => import("./pages/GraphPage").then((m) => ({ default: m.GraphPage })));
const EditorPage = lazy(() => import("./pages/EditorPage").then((m) => ({ default: m.EditorPage })));
const BuilderPage = lazy(() => import("./pages/BuilderPage").then((m) => ({ default: m.BuilderPage })));

const PAGES = [
  ["", "Queries"],
  ["graph", "Graph"],
  ["builder", "Builder"],
  ["editor", "Editor"],
] as const;

interface Health {
  status: string;
  version: string;
  queries: number;
}

export function App() {
  const place = usePlace();
  const page = place.parts[0] ?? "";
  const health = useLoaded<Health>((signal) => get("/health", signal), [], 5000);
  const needsToken = useLoaded((signal) => get("/api/catalog", signal).then(() => true), [], undefined);
  const refused = needsToken.problems.some((p) => p.condition === "NO_TOKEN" || p.condition === "BAD_TOKEN" || p.condition === "UNAUTHORIZED");
  const gone = health.problems.length > 0;
  return (
    <div className="shell">
      <a className="visually-hidden" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the page
      </a>
      <div className="side">
        <a className="brand" href="#/">
          <img src={mark} alt="" /> Continua
        </a>
        <nav aria-label="Pages">
          {PAGES.map(([name, title]) => (
            <a key={name} href={address(name ? [name] : [])} aria-current={page === name || (name === "" && page === "queries") ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div className="foot">
          <span className={`state small ${gone ? "failed" : health.value?.status === "ok" ? "live" : ""}`} role="status">
            {gone ? "no connection" : health.value ? health.value.status === "ok" ? "connected" : health.value.status : "connecting"}
          </span>
          <ThemeChoice />
          {health.value && <span className="muted small">{health.value.version}</span>}
        </div>
      </div>
      <main className="page" id="main" tabIndex={-1}>
        {refused ? <TokenForm /> : <Suspense fallback={<Waiting what="the page" />}>{chosen(page, place.parts)}</Suspense>}
      </main>
    </div>
  );
}

function chosen(page: string, parts: string[]) {
  switch (page) {
    case "":
      return <QueriesPage />;
    case "queries":
      return parts[1] ? <QueryPage key={parts[1]} name={parts[1]} tab={parts[2] ?? "answer"} /> : <QueriesPage />;
    case "graph":
      return <GraphPage />;
    case "builder":
      return <BuilderPage />;
    case "editor":
      return <EditorPage />;
    default:
      return (
        <div className="body">
          <div className="empty">
            <strong>There is no such page.</strong>
            <a href="#/">Queries</a>
          </div>
        </div>
      );
  }
}

function ThemeChoice() {
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  useEffect(() => {
    const media = window.matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
      if (!localStorage.getItem("continua-theme")) document.documentElement.dataset.theme = systemTheme();
    };
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  return (
    <button
      className="small"
      onClick={() => {
        if (other === systemTheme()) localStorage.removeItem("continua-theme");
        else localStorage.setItem("continua-theme", other);
        document.documentElement.dataset.theme = other;
      }}
    >
      {other === "dark" ? "Dark" : "Light"} theme
    </button>
  );
}

function TokenForm() {
  const [text, setText] = useState("");
  return (
    <div className="body">
      <form
        className="panel"
        style={{ maxWidth: 420, marginTop: 40 }}
        onSubmit={(event) => {
          event.preventDefault();
          setToken(text.trim());
          window.location.reload();
        }}
      >
        <header>
          <h1>This server asks for a token</h1>
        </header>
        <div className="inside stack">
          <label className="field">
            <span>Token</span>
            <input className="mono" type="password" autoComplete="off" value={text} onChange={(event) => setText(event.target.value)} />
          </label>
          <p className="muted small">It is kept until this tab is closed. An administrator makes one with continua token.</p>
          <div className="row end">
            <button className="primary" disabled={!text.trim()}>
              Go on
            </button>
          </div>
        </div>
      </form>
    </div>
  );
}

