// The forms of windows that have fields of their own; any other is text.

export type WindowKind = "range" | "now" | "rows" | "unbounded" | "fixed" | "partition" | "text";

export interface WindowForm {
  kind: WindowKind;
  length: string;
  slide: string;
  by: string;
  text: string;
}

export const WINDOW_KINDS: [WindowKind, string][] = [
  ["range", "the last length of time"],
  ["fixed", "the current period"],
  ["rows", "the last rows"],
  ["partition", "the last rows of each kind"],
  ["now", "what is now"],
  ["unbounded", "all so far"],
  ["text", "as written"],
];

/** What a window is, by its text. */
export function readWindow(text: string): WindowForm {
  const form: WindowForm = { kind: "text", length: "", slide: "", by: "", text };
  const inside = /^\[([^\]]*)\]$/.exec(text.trim())?.[1]?.trim();
  if (inside === undefined) return form;
  if (/^NOW$/i.test(inside)) return { ...form, kind: "now" };
  if (/^RANGE\s+UNBOUNDED$/i.test(inside)) return { ...form, kind: "unbounded" };
  const amount = String.raw`(\d+(?:\s+\w+)?)`;
  const range = new RegExp(`^RANGE\\s+${amount}(?:\\s+SLIDE\\s+${amount})?$`, "i").exec(inside);
  if (range) return { ...form, kind: "range", length: range[1]!, slide: range[2] ?? "" };
  const fixed = new RegExp(`^FIXED\\s+${amount}$`, "i").exec(inside);
  if (fixed) return { ...form, kind: "fixed", length: fixed[1]! };
  const rows = /^ROWS\s+(\d+)(?:\s+SLIDE\s+(\d+))?$/i.exec(inside);
  if (rows) return { ...form, kind: "rows", length: rows[1]!, slide: rows[2] ?? "" };
  const parts = /^PARTITION\s+BY\s+([\w,\s]+?)\s+ROWS\s+(\d+)$/i.exec(inside);
  if (parts) return { ...form, kind: "partition", by: parts[1]!, length: parts[2]! };
  return form;
}

/** The text of a window. */
export function writeWindow(form: WindowForm): string {
  const slide = form.slide.trim() ? ` SLIDE ${form.slide.trim()}` : "";
  const length = form.length.trim();
  switch (form.kind) {
    case "now":
      return "[NOW]";
    case "unbounded":
      return "[RANGE UNBOUNDED]";
    case "range":
      return `[RANGE ${length || "10 MINUTES"}${slide}]`;
    case "fixed":
      return `[FIXED ${length || "10 MINUTES"}]`;
    case "rows":
      return `[ROWS ${/^\d+$/.test(length) ? length : "5"}${/^ SLIDE \d+$/.test(slide) ? slide : ""}]`;
    case "partition":
      return `[PARTITION BY ${form.by.trim()} ROWS ${/^\d+$/.test(length) ? length : "5"}]`;
    case "text":
      return form.text;
  }
}
