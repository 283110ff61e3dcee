import type { QueryInfo } from "../api";
import { plans } from "../console";
import { address, go, useLoaded, usePlace } from "../hooks";
import { Problems, Tabs, Waiting } from "../parts/basics";
import { PlanLegend, PlanView, type Stage } from "../parts/PlanView";
import { plural } from "../pure/format";

export function PlanTab({ of: q }: { of: QueryInfo }) {
  const { asked } = usePlace();
  const stage = (asked.get("stage") ?? "logical") as Stage;
  const step = Number(asked.get("step") ?? 0);
  const found = useLoaded((signal) => plans(q.name, signal), [q.name], stage === "physical" ? 2000 : undefined);
  const to = (name: Stage) => address(["queries", q.name, "plan"], { stage: name });
  const steps = found.value?.rewrites.steps.length ?? 0;
  const tabs = [
    ["logical", "Logical", to("logical")],
    ["rewrites", `Rewritten${found.value ? ` (${plural(steps, "step")})` : ""}`, to("rewrites")],
    ["physical", "Physical", to("physical")],
  ] as const;
  return (
    <section className="panel planned">
      <header>
        <Tabs label="Stages of the plan" tabs={tabs} at={stage} />
        <span className="grow" />
        <PlanLegend stage={stage} />
      </header>
      <div className="space">
        {found.problems.length > 0 && <div style={{ padding: 12 }}><Problems of={found.problems} /></div>}
        {found.value ? <PlanView plans={found.value} stage={stage} step={step} onStep={(n) => go(address(["queries", q.name, "plan"], { stage: "rewrites", step: n }), true)} /> : found.loading && <Waiting what="the plan" />}
      </div>
    </section>
  );
}
