import { describe, expect, it } from "vitest";
import type { CatalogEntry } from "../src/api";
import { aliases, completions } from "../src/pure/completion";
import { bytes, count, seconds } from "../src/pure/format";
import { lastBefore, nextAfter, readInstant, showInstant, showTime } from "../src/pure/instants";
import { framed, sizeOf } from "../src/pure/layout";
import { placeOf } from "../src/pure/places";
import { drawPlan, type LogicalPlan } from "../src/pure/plan";
import { ratesOf } from "../src/pure/rates";
import { compare } from "../src/pure/rows";
import { outset, stepOf, ticksOf } from "../src/pure/slider";
import { sparkPath } from "../src/pure/spark";
import { readWindow, writeWindow } from "../src/pure/windows";

describe("instants", () => {
  it("are written as the command line writes them, and read again", () => {
    for (const instant of [0, 1714557600000000, 1714559399999999, -1, 1714557600120000]) {
      expect(readInstant(showInstant(instant, "microseconds"), "microseconds")).toBe(instant);
    }
    expect(showInstant(1714557600120000, "microseconds")).toBe("2024-05-01T10:00:00.12Z");
    expect(showInstant(42, "ticks")).toBe("42");
    expect(showTime(1714557600120000, "microseconds")).toBe("10:00:00.12");
  });

  it("are refused where they are none", () => {
    expect(readInstant("2024-05-01 10:00", "microseconds")).toBe(1714557600000000);
    expect(readInstant("2024-05-01T10:00:00Z", "ticks")).toBeNull();
    expect(readInstant("soon", "microseconds")).toBeNull();
    expect(readInstant("2024-13-41T10:00:00Z", "microseconds")).toBeNull();
  });

  it("have neighbours among those with changes", () => {
    expect([nextAfter([1, 3, 5], 3), nextAfter([1, 3, 5], 5), nextAfter([], 1)]).toEqual([5, null, null]);
    expect([lastBefore([1, 3, 5], 3), lastBefore([1, 3, 5], 1), lastBefore([1, 3, 5], 9)]).toEqual([1, null, 5]);
  });
});

describe("rows", () => {
  it("that are there twice come and go one by one", () => {
    const [a, b] = [{ x: 1 }, { x: 2 }];
    expect(compare([a, b], [a, a]).map((row) => [row.row.x, row.state])).toEqual([[1, "same"], [1, "came"], [2, "went"]]);
    expect(new Set(compare([a, b], [a, a]).map((row) => row.key)).size).toBe(3);
    expect(compare(null, [a]).map((row) => row.state)).toEqual(["same"]);
  });
});

describe("figures", () => {
  it("are short", () => {
    expect([count(0), count(999), count(12_345), count(3_400_000)]).toEqual(["0", "999", "12.3 k", "3.40 M"]);
    expect([bytes(0), bytes(1536), bytes(2 ** 30)]).toEqual(["0 B", "1.5 KiB", "1.0 GiB"]);
    expect([seconds(0.00001), seconds(0.25), seconds(3.21), seconds(600)]).toEqual(["10 µs", "250 ms", "3.2 s", "10 min"]);
  });

  it("of a second follow from what came between two looks", () => {
    const sample = { epoch: 1, seconds: 0.1, stateBytes: 0, lag: null };
    const found = ratesOf([{ ...sample, at: 1, rowsIn: 5, rowsOut: 0 }, { ...sample, at: 3, rowsIn: 10, rowsOut: 4 }]);
    expect(found).toEqual({ rowsIn: [5], rowsOut: [2] });
  });

  it("make a line that stays in its box, also where all are alike", () => {
    expect(sparkPath([1], 10, 10).line).toBe("");
    for (const values of [[0, 0, 0], [5, 5], [1, -1, 3]]) {
      const numbers = sparkPath(values, 40, 20).line.match(/-?[\d.]+/g)!.map(Number);
      expect(numbers.every((n) => n >= 0 && n <= 40)).toBe(true);
    }
  });
});

describe("the slider", () => {
  it("moves in steps that people count in", () => {
    expect(stepOf(0, 1_800_000_000, "microseconds")).toBe(1_000_000);
    expect(stepOf(0, 50, "ticks")).toBe(1);
  });

  it("begins where something happens, and not at the beginning of time", () => {
    const now = 1_714_557_600_000_000;
    expect(outset(0, now + 10e6, [0, now, now + 1e6])).toBe(now - 500_001);
    expect(outset(now, now + 10e6, [now, now + 1e6])).toBe(now);
    expect(outset(0, 10, [0, 1])).toBe(0);
    expect(outset(5, 10, [])).toBe(5);
  });

  it("marks instants between its ends, at most so many", () => {
    expect(ticksOf(0, 10, [0, 5, 10, 11], 10)).toEqual([0, 0.5, 1]);
    expect(ticksOf(0, 1e6, Array.from({ length: 9999 }, (_, n) => n * 100), 50).length).toBeLessThanOrEqual(51);
    expect(ticksOf(3, 3, [3], 10)).toEqual([]);
  });
});

describe("windows", () => {
  it("are written as they are read", () => {
    for (const text of ["[NOW]", "[RANGE UNBOUNDED]", "[RANGE 10 MINUTES]", "[RANGE 1 HOUR SLIDE 5 MINUTES]", "[FIXED 15 MINUTES]", "[ROWS 5]", "[ROWS 5 SLIDE 2]", "[PARTITION BY a, b ROWS 3]"]) {
      expect(writeWindow(readWindow(text))).toBe(text);
      expect(readWindow(text).kind).not.toBe("text");
    }
    for (const text of ["WINDOW(RANGE 10 MINUTES)", "[LANDMARK 5]", "[RANGE 1 MINUTE SLIDE 100 ROWS] x", ""]) {
      expect(readWindow(text).kind).toBe("text");
      expect(writeWindow(readWindow(text))).toBe(text);
    }
  });
});

describe("an editor", () => {
  const entries: CatalogEntry[] = [{ name: "Bid", kind: "stream", columns: [{ name: "item_id", type: "INT" }, { name: "price", type: "DOUBLE" }], sql: "" }];
  const names = { entries, words: [{ name: "MAX", kind: "aggregate" }], keywords: ["SELECT", "FROM"] };
  const offered = (text: string) => completions(text, text.length, names)!.options.map((word) => word.name);

  it("offers streams behind FROM, and columns behind an alias", () => {
    expect(offered("SELECT * FROM ")).toEqual(["Bid"]);
    expect(completions("SELECT b. FROM Bid [NOW] AS b", 9, names)!.options.map((word) => word.name)).toEqual(["item_id", "price"]);
    expect(offered("sel")).toContain("select");
    expect(offered("SEL")).toContain("SELECT");
  });

  it("knows aliases before and behind windows", () => {
    expect([...aliases("FROM Bid [RANGE 5 MINUTES] b, Open o JOIN Bid WINDOW(RANGE 1 HOUR) AS c ON x")]).toEqual([["bid", "Bid"], ["b", "Bid"], ["open", "Open"], ["o", "Open"], ["c", "Bid"]]);
    expect(aliases("FROM Bid WHERE x").has("where")).toBe(false);
  });

  it("underlines what is wrong, by characters and not by units of UTF-16", () => {
    expect(placeOf("SELECT\n  itm FROM Bid", { line: 2, column: 3, length: 3 })).toEqual({ from: 9, to: 12 });
    expect(placeOf("'\u{1f600}' itm", { line: 1, column: 5, length: 3 })).toEqual({ from: 5, to: 8 });
    expect(placeOf("SELECT", { line: null, column: null, length: null })).toEqual({ from: 0, to: 6 });
    expect(placeOf("SELECT", { line: 1, column: 7, length: 1 })).toEqual({ from: 5, to: 6 });
  });
});

describe("plans", () => {
  const leaf = (name: string): LogicalPlan => ({ operator: "Source", parameters: { name }, schema: [], kind: "stream", inputs: [], subqueries: [] });
  const over = (operator: string, ...inputs: LogicalPlan[]): LogicalPlan => ({ operator, parameters: {}, schema: [], kind: "relation", inputs, subqueries: [] });

  it("are drawn with equal parts once", () => {
    const window = over("Window", leaf("Bid"));
    const drawing = drawPlan(over("Join", window, over("Aggregate", window)));
    expect(drawing.nodes.map((node) => node.title).sort()).toEqual(["Aggregate", "Join", "Source", "Window"]);
    expect(drawing.edges).toHaveLength(4);
  });

  it("show what a rule takes and what it brings", () => {
    const before = over("Filter", over("Window", leaf("Bid")));
    const after = over("Window", over("Filter", leaf("Bid")));
    expect(drawPlan(before, after, "before").nodes.filter((node) => node.mark).map((node) => node.title)).toEqual(["Filter", "Window"]);
    expect(drawPlan(after, after, "after").nodes.some((node) => node.mark)).toBe(false);
  });

  it("stay readable: what is larger than its frame begins at its upper edge", () => {
    const tall = framed([{ x: 0, y: 0, width: 100, height: 5000 }], 800, 600);
    expect([tall.zoom, tall.y]).toEqual([0.72, 14]);
    const small = framed([{ x: 0, y: 0, width: 100, height: 50 }], 800, 600);
    expect(small.zoom).toBe(1.1);
    expect(sizeOf("Window", ["x".repeat(200)]).height).toBeGreaterThan(sizeOf("Window", ["x"]).height);
  });
});
