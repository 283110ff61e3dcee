import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history as undoHistory, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql, SQLDialect } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { CatalogEntry, Problem } from "../api";
import { completions, type Word } from "../pure/completion";
import { placeOf } from "../pure/places";

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--warn)" },
]);

const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 70%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "none" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)", borderRadius: "5px", color: "var(--text)", boxShadow: "var(--shadow)" },
  ".cm-tooltip-autocomplete ul li": { fontFamily: "var(--mono)", fontSize: "12px", padding: "2px 8px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "10px" },
  ".cm-diagnostic": { padding: "5px 10px", borderLeft: "3px solid var(--bad)", fontFamily: "var(--sans)", whiteSpace: "pre-line" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.2px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.2px", textUnderlineOffset: "3px" },
  ".cm-placeholder": { color: "var(--muted)" },
});

export interface Known {
  entries: CatalogEntry[];
  words: Word[];
  keywords: string[];
}

/** An editor of statements: names are completed, and mistakes underlined as they are typed. */
export function SqlEditor({ value, onChange, check, known, onRun, label = "Statements" }: {
  value: string;
  onChange: (text: string) => void;
  check: (text: string) => Promise<Problem[]>;
  known: Known | null;
  onRun?: () => void;
  label?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef({ onChange, check, known, onRun });
  now.current = { onChange, check, known, onRun };
  const keywords = `${known?.keywords.join(" ").toLowerCase() ?? "select from where group by"} millisecond second minute hour day`;

  useEffect(() => {
    if (!box.current) return;
    const dialect = SQLDialect.define({
      keywords,
      types: "int bigint smallint tinyint double float real decimal string boolean timestamp date char varchar array map struct",
      doubleQuotedStrings: false,
      identifierQuotes: "`",
    });
    const complete = (context: CompletionContext): CompletionResult | null => {
      const word = context.matchBefore(/[\w.]*/);
      if (!word || (word.from === word.to && !context.explicit)) return null;
      const found = completions(context.state.doc.toString(), context.pos, now.current.known);
      if (!found) return null;
      return { from: found.from, options: found.options.map((one) => ({ label: one.name, detail: one.kind, type: one.kind === "keyword" ? "keyword" : "variable", boost: one.kind === "keyword" ? -1 : 0 })), validFor: /^\w*$/ };
    };
    const lint = linter(
      async (shown): Promise<Diagnostic[]> => {
        const text = shown.state.doc.toString();
        if (!text.trim()) return [];
        const problems = await now.current.check(text);
        if (shown.state.doc.toString() !== text) return [];
        return problems.map((problem) => {
          const { from, to } = placeOf(text, problem);
          return { from, to, severity: "error" as const, message: problem.hint ? `${problem.message}\n${problem.hint}` : problem.message, source: problem.condition };
        });
      },
      { delay: 250 },
    );
    // in a shadow tree its styles are sheets of their own: the page's policy allows no inline styles
    const root = box.current.shadowRoot ?? box.current.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(),
          undoHistory(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          sql({ dialect, upperCaseKeywords: true }).language,
          syntaxHighlighting(COLOURS),
          autocompletion({ override: [complete], icons: false, activateOnTyping: true }),
          lint,
          placeholder("SELECT ... FROM Stream [RANGE 1 MINUTE]"),
          EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true" }),
          EditorView.lineWrapping,
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (now.current.onRun?.(), true) }])),
          // Escape, then Tab, leaves the editor: CodeMirror's own way out for the keyboard
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) now.current.onChange(update.state.doc.toString());
          }),
          LOOK,
        ],
      }),
      parent: root,
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
    // made anew only where the words of the language become known
  }, [keywords, label]);

  useEffect(() => {
    const shown = view.current;
    if (shown && shown.state.doc.toString() !== value) shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
  }, [value]);
  return <div className="editor" ref={box} />;
}
