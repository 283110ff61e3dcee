import { describe, expect, it } from "vitest";
import { added, aliased, canConnect, connected, EMPTY, fromJson, linesOf, reads, removed, sourceOf, toJson, withProperty, type Plan } from "../src/pure/builder";

function highestBid(): Plan {
  let { plan } = added(EMPTY, "source", null, { x: 0, y: 0 });
  plan = withProperty(plan, "n1", "name", "Bid");
  ({ plan } = added(plan, "window", "n1", { x: 0, y: 0 }));
  ({ plan } = added(plan, "aggregate", "n2", { x: 0, y: 0 }));
  ({ plan } = added(plan, "join", "n2", { x: 0, y: 0 }));
  plan = connected(plan, "n3", "n4", 1);
  return aliased(aliased(plan, "n4", 0, "b"), "n4", 1, "h");
}

describe("a plan that is drawn", () => {
  it("is sent without the places of its operators, and comes back the same", () => {
    const json = toJson(highestBid());
    expect(json.nodes[3]).toEqual({ id: "n4", kind: "join", properties: {}, inputs: [{ node: "n2", alias: "b" }, { node: "n3", alias: "h" }] });
    expect(toJson(fromJson(json))).toEqual(json);
  });

  it("lets no operator read itself by way of others, and nothing read a sink", () => {
    const plan = added(highestBid(), "sink", "n4", { x: 0, y: 0 }).plan;
    expect(canConnect(plan, "n4", "n2", 0)).toBe(false);
    expect(canConnect(plan, "n5", "n3", 0)).toBe(false);
    expect(canConnect(plan, "n1", "n3", 0)).toBe(true);
    expect(canConnect(plan, "n1", "n3", 1)).toBe(false);
    expect(reads(plan, "n5", "n1")).toBe(true);
    expect(connected(plan, "n4", "n2", 0)).toBe(plan);
  });

  it("hands groups to filters and aggregations alone", () => {
    let { plan } = added(highestBid(), "group", "n2", { x: 0, y: 0 });
    for (const kind of ["filter", "aggregate", "map", "distinct"] as const) ({ plan } = added(plan, kind, null, { x: 0, y: 0 }));
    expect(["n6", "n7", "n8", "n9"].map((id) => canConnect(plan, "n5", id, 0))).toEqual([true, true, false, false]);
  });

  it("closes the gap where an operator is taken out, and opens one where there is nothing to close it with", () => {
    const plan = removed(highestBid(), "n3");
    expect(plan.nodes.at(-1)!.inputs).toEqual([{ node: "n2", alias: "b" }, { node: "n2", alias: "h" }]);
    expect(removed(plan, "n1").nodes[0]!.inputs).toEqual([null]);
  });

  it("numbers operators so that none has the name of another", () => {
    const plan = removed(highestBid(), "n2");
    expect(added(plan, "map", null, { x: 0, y: 0 }).id).toBe("n5");
  });

  it("says in a line what an operator does", () => {
    const plan = withProperty(withProperty(highestBid(), "n4", "join", "LEFT SEMI"), "n4", "on", "b.price = h.m");
    expect(linesOf(plan.nodes[3]!)).toEqual(["LEFT SEMI b.price = h.m"]);
    expect(linesOf(highestBid().nodes[3]!)).toEqual(["product"]);
    expect(sourceOf(plan, "n4")).toBe("Bid");
  });
});
