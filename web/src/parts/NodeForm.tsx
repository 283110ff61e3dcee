import type { CatalogEntry, Column, Problem } from "../api";
import { aliased, connected, canConnect, KINDS, linesOf, sourceOf, withProperty, type Plan, type PlanNode } from "../pure/builder";
import { readWindow, WINDOW_KINDS, writeWindow, type WindowKind } from "../pure/windows";
import { Problems } from "./basics";
import { WindowPicture } from "./WindowPicture";

const JOINS = [["", "JOIN"], [",", "product"], ["LEFT", "LEFT JOIN"], ["RIGHT", "RIGHT JOIN"], ["FULL", "FULL JOIN"], ["LEFT SEMI", "LEFT SEMI JOIN"], ["LEFT ANTI", "LEFT ANTI JOIN"], ["NATURAL", "NATURAL JOIN"], ["CROSS", "CROSS JOIN"]] as const;
const ROWS = [["ALL", "all: a row as often as it occurs"], ["", "each row once"], ["MAX", "the greater multiplicity"], ["STRICT", "none that is in the other"]] as const;
const STREAMS = [["ISTREAM", "ISTREAM: what comes"], ["DSTREAM", "DSTREAM: what goes"], ["RSTREAM", "RSTREAM: all that there is"], ["STREAMED", "STREAMED: changes with tags"], ["COMPLETE", "COMPLETE: the relation itself"]] as const;
const LABELS: Record<string, string> = { predicate: "Condition", columns: "Columns", keys: "Columns that are alike", on: "On", using: "Using", order: "Order by", limit: "Limit", offset: "Offset", sql: "Query", sink: "Into (a sink, or nothing)", name: "Name", group: "Group (or nothing): epochs of its own", starting: "Starting at (or nothing): EARLIEST or an instant" };
const LONG = new Set(["predicate", "columns", "sql", "on"]);
const EXAMPLES: Record<string, string> = { predicate: "price > 100", columns: "item, MAX(price) AS highest", keys: "item", on: "a.id = b.id", order: "price DESC", sink: "csv('out')", name: "highest_bid", starting: "EARLIEST" };

/** The properties of an operator, and what it reads. */
export function NodeForm({ plan, node, entries, columns, problems, onChange, onRemove }: {
  plan: Plan;
  node: PlanNode;
  entries: CatalogEntry[];
  columns: Map<string, Column[]>;
  problems: Problem[];
  onChange: (plan: Plan) => void;
  onRemove: () => void;
}) {
  const info = KINDS[node.kind];
  const set = (name: string, value: string) => onChange(withProperty(plan, node.id, name, value));
  const given = node.inputs.flatMap((input) => (input ? [{ input, columns: columns.get(input.node) ?? [] }] : []));
  return (
    <form className="stack form" onSubmit={(event) => event.preventDefault()} aria-label={`Properties of ${info.title} ${node.id}`}>
      <div className="row">
        <h2>{info.title}</h2>
        <span className="muted small grow">{info.told}</span>
        <button type="button" className="danger" onClick={onRemove}>Delete</button>
      </div>
      <Problems of={problems} />
      {node.inputs.map((input, port) => (
        <div className="row" key={port}>
          <label className="field grow">
            <span>{node.inputs.length === 1 ? "Reads" : port === 0 ? "Left input" : "Right input"}</span>
            <select value={input?.node ?? ""} onChange={(event) => onChange(connected(plan, event.target.value || null, node.id, port))}>
              <option value="">nothing yet</option>
              {plan.nodes.filter((other) => other.id === input?.node || canConnect(plan, other.id, node.id, port)).map((other) => (
                <option key={other.id} value={other.id}>{other.id}: {KINDS[other.kind].title} {linesOf(other)[0] ?? ""}</option>
              ))}
            </select>
          </label>
          {input && node.kind !== "window" && node.kind !== "sink" && node.kind !== "stream" && !["union", "difference", "intersection"].includes(node.kind) && (
            <label className="field" style={{ width: 84 }}>
              <span>called</span>
              <input className="mono" value={input.alias} onChange={(event) => onChange(aliased(plan, node.id, port, event.target.value))} />
            </label>
          )}
        </div>
      ))}
      {node.kind === "window" ? (
        <WindowFields node={node} plan={plan} onText={(text) => set("window", text)} />
      ) : (
        info.properties.map((name) => {
          const value = node.properties[name] ?? "";
          const choice = node.kind === "source" ? null : name === "join" ? JOINS : name === "rows" ? ROWS : name === "operator" ? STREAMS : null;
          if (node.kind === "source") {
            return (
              <label className="field" key={name}>
                <span>Stream, relation or view</span>
                <select value={value} onChange={(event) => set(name, event.target.value)}>
                  <option value="">choose one</option>
                  {value && !entries.some((entry) => entry.name.toLowerCase() === value.toLowerCase()) && <option value={value}>{value}</option>}
                  {entries.filter((entry) => !["function", "aggregate", "window"].includes(entry.kind)).map((entry) => (
                    <option key={entry.name} value={entries.some((e) => e.name === value) ? entry.name : entry.name.toLowerCase() === value.toLowerCase() ? value : entry.name}>{entry.name} ({entry.kind})</option>
                  ))}
                </select>
              </label>
            );
          }
          if (choice) {
            return (
              <label className="field" key={name}>
                <span>{name === "rows" ? "Rows" : name === "join" ? "Kind" : "Operator"}</span>
                <select value={value} onChange={(event) => set(name, event.target.value)}>
                  {!choice.some(([key]) => key === value) && <option value={value}>{value}</option>}
                  {choice.map(([key, title]) => <option key={key} value={key}>{title}</option>)}
                </select>
              </label>
            );
          }
          const wrong = problems.some((problem) => problem.parameters.property === name);
          return (
            <label className="field" key={name}>
              <span>{LABELS[name] ?? name}</span>
              {LONG.has(name) ? (
                <textarea aria-label={LABELS[name] ?? name} className="mono" rows={name === "sql" ? 8 : 3} spellCheck={false} value={value} placeholder={EXAMPLES[name]} aria-invalid={wrong} onChange={(event) => set(name, event.target.value)} />
              ) : (
                <input className="mono" spellCheck={false} value={value} placeholder={EXAMPLES[name]} aria-invalid={wrong} onChange={(event) => set(name, event.target.value)} />
              )}
            </label>
          );
        })
      )}
      {given.some(({ columns: found }) => found.length > 0) && (
        <div className="field">
          <span>Columns that it reads</span>
          <div className="row wrap" style={{ gap: 4 }}>
            {given.flatMap(({ input, columns: found }) => found.map((column) => (
              <span className="tag mono" key={`${input.node}${input.alias}${column.name}`} title={column.type}>{input.alias ? `${input.alias}.` : ""}{column.name}</span>
            )))}
          </div>
        </div>
      )}
      {(columns.get(node.id)?.length ?? 0) > 0 && node.kind !== "sink" && (
        <div className="field">
          <span>Columns that it yields</span>
          <div className="row wrap" style={{ gap: 4 }}>
            {columns.get(node.id)!.map((column, index) => <span className="tag mono" key={`${column.name}${index}`} title={column.type}>{column.name}</span>)}
          </div>
        </div>
      )}
    </form>
  );
}

function WindowFields({ node, plan, onText }: { node: PlanNode; plan: Plan; onText: (text: string) => void }) {
  const text = node.properties.window ?? "";
  const form = readWindow(text);
  const source = sourceOf(plan, node.id);
  const set = (change: Partial<typeof form>) => onText(writeWindow({ ...form, ...change }));
  const pick = (kind: WindowKind) => {
    const isTime = kind === "range" || kind === "fixed";
    const wasTime = form.kind === "range" || form.kind === "fixed";
    set({ kind, ...(isTime === wasTime ? {} : { length: "", slide: "" }), ...(kind === "partition" && !form.by ? { by: "item" } : {}), text });
  };
  return (
    <>
      <label className="field">
        <span>Kind</span>
        <select value={form.kind} onChange={(event) => pick(event.target.value as WindowKind)}>
          {WINDOW_KINDS.map(([key, title]) => <option key={key} value={key}>{title}</option>)}
        </select>
      </label>
      <div className="row">
        {["range", "fixed", "rows", "partition"].includes(form.kind) && (
          <Typed label={form.kind === "range" || form.kind === "fixed" ? "Length" : "Rows"} value={form.length} onValue={(length) => set({ length })} />
        )}
        {["range", "rows"].includes(form.kind) && <Typed label="Slide (or nothing)" value={form.slide} onValue={(slide) => set({ slide })} />}
        {form.kind === "partition" && <Typed label="By" value={form.by} onValue={(by) => set({ by })} />}
      </div>
      <label className="field">
        <span>As text</span>
        <input className="mono" spellCheck={false} value={text} onChange={(event) => onText(event.target.value)} />
      </label>
      <WindowPicture source={source} window={text} />
    </>
  );
}

/** A field that is taken over when it is left or entered: half of a length is not a length. */
function Typed({ label, value, onValue }: { label: string; value: string; onValue: (text: string) => void }) {
  return (
    <label className="field grow">
      <span>{label}</span>
      <input className="mono" key={value} defaultValue={value} onBlur={(event) => event.target.value !== value && onValue(event.target.value)} onKeyDown={(event) => event.key === "Enter" && onValue(event.currentTarget.value)} />
    </label>
  );
}
