import { useMemo, useState } from "react";
import type { Plans, RewriteStep } from "../console";
import { drawPhysical } from "../pure/physical";
import { drawPlan } from "../pure/plan";
import { Empty } from "./basics";
import { GraphView } from "./GraphView";

export type Stage = "logical" | "rewrites" | "physical";

/** A query's plan at a stage. */
export function PlanView({ plans, stage, step, onStep }: { plans: Plans; stage: Stage; step: number; onStep: (step: number) => void }) {
  const logical = useMemo(() => drawPlan(plans.logical), [plans.logical]);
  const physical = useMemo(() => (plans.physical ? drawPhysical(plans.physical, false) : null), [plans.physical]);
  if (stage === "logical") return <GraphView drawing={logical} label="Logical plan" />;
  if (stage === "rewrites") return <Rewrites plans={plans} step={step} onStep={onStep} />;
  if (!physical) return <Empty title="The engine has no plan for this query."><span>{plans.why}</span></Empty>;
  return <GraphView drawing={physical} label="Physical plan" />;
}

function Rewrites({ plans, step, onStep }: { plans: Plans; step: number; onStep: (step: number) => void }) {
  const { steps, plan } = plans.rewrites;
  const last = drawPlan(plan);
  if (!steps.length) {
    return (
      <div className="planned">
        <p className="muted" style={{ padding: "10px 12px" }}>No rule changes this plan: it runs as it is written.</p>
        <div className="space"><GraphView drawing={last} label="The plan that is run" /></div>
      </div>
    );
  }
  const at = Math.min(Math.max(step, 0), steps.length);
  const shown = steps[at];
  return (
    <div className="steps">
      <aside aria-label="Steps">
        <div className="row" style={{ padding: "0 0 8px" }}>
          <button disabled={at === 0} onClick={() => onStep(at - 1)}>Back</button>
          <button disabled={at >= steps.length} onClick={() => onStep(at + 1)}>Next step</button>
          <span className="muted small">{Math.min(at + 1, steps.length)} of {steps.length}</span>
        </div>
        <div className="rules">
          {steps.map((one, index) => (
            <button key={index} aria-current={index === at ? "step" : undefined} onClick={() => onStep(index)}>
              <span className="mono">{index + 1}. {one.rule.replaceAll("_", "_\u200b")}</span>
            </button>
          ))}
          <button aria-current={at === steps.length ? "step" : undefined} onClick={() => onStep(steps.length)}>
            <strong>The plan that is run</strong>
          </button>
        </div>
      </aside>
      {shown ? <Step of={shown} key={at} /> : <GraphView drawing={last} label="The plan that is run" />}
    </div>
  );
}

function Step({ of: step }: { of: RewriteStep }) {
  const [open, setOpen] = useState(false);
  const before = useMemo(() => drawPlan(step.before, step.after, "before"), [step]);
  const after = useMemo(() => drawPlan(step.after, step.before, "after"), [step]);
  return (
    <div className="pair">
      <div className="stack" style={{ padding: "8px 12px", gap: 3 }}>
        <div className="row wrap">
          <strong className="mono">{step.rule}</strong>
          <span className="muted">{step.law}</span>
          {step.conditions.length > 0 && <button className="plain small" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide" : "Show"} its conditions</button>}
        </div>
        {open && step.conditions.map((condition) => <p className="small muted" key={condition}>{condition}</p>)}
      </div>
      <div className="half">
        <h3>Before</h3>
        <GraphView drawing={before} label={`Before ${step.rule}`} />
      </div>
      <div className="half">
        <h3>After</h3>
        <GraphView drawing={after} label={`After ${step.rule}`} />
      </div>
    </div>
  );
}

export function PlanLegend({ stage }: { stage: Stage }) {
  return (
    <div className="legend">
      {stage === "physical" ? (
        <>
          <span><i className="holds" /> holds state</span>
          <span><i className="moves" /> rows move to another level</span>
        </>
      ) : (
        <>
          <span><i className="stream" /> stream</span>
          <span><i className="relation" /> relation</span>
          <span><i className="tagged" /> tagged stream</span>
          {stage === "rewrites" && <><span><i className="before" /> goes</span><span><i className="after" /> comes</span></>}
        </>
      )}
    </div>
  );
}
