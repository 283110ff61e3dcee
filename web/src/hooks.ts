import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { problemsOf, type Problem } from "./api";

export interface Loaded<T> {
  value: T | null;
  problems: Problem[];
  loading: boolean;
  again: () => void;
}

/** What a function fetches: now, when its keys change, and every so many milliseconds while the page is seen. */
export function useLoaded<T>(fetcher: (signal: AbortSignal) => Promise<T>, keys: unknown[], every?: number): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const latest = useRef(fetcher);
  latest.current = fetcher;
  const key = JSON.stringify(keys);
  const before = useRef(key);
  useEffect(() => {
    const control = new AbortController();
    let timer: number | undefined;
    if (before.current !== key) {
      before.current = key;
      setValue(null);
      setProblems([]);
    }
    setLoading(true);
    const run = async () => {
      if (!document.hidden) {
        try {
          const found = await latest.current(control.signal);
          if (control.signal.aborted) return;
          setValue(found);
          setProblems([]);
        } catch (error) {
          if (control.signal.aborted) return;
          setProblems(problemsOf(error));
        }
        setLoading(false);
      }
      if (every && !control.signal.aborted) timer = window.setTimeout(run, every);
    };
    void run();
    return () => {
      control.abort();
      window.clearTimeout(timer);
    };
  }, [key, every, round]);
  return { value, problems, loading, again: useCallback(() => setRound((n) => n + 1), []) };
}

export interface Place {
  parts: string[];
  asked: URLSearchParams;
}

function listen(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

/** Where the reader is: the part of the address behind #. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(listen, () => window.location.hash);
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), asked: new URLSearchParams(search) };
}

export function address(parts: string[], asked: Record<string, string | number | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Goes somewhere; ``replace`` leaves no trace in the history, as while a slider is dragged. */
export function go(to: string, replace = false): void {
  if (window.location.hash === to) return;
  if (!replace) window.location.hash = to;
  else {
    window.history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

export type Theme = "light" | "dark";

export function systemTheme(): Theme {
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function listenToTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

export function useTheme(): Theme {
  return useSyncExternalStore(listenToTheme, () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light"));
}

export function useTitle(text: string): void {
  useEffect(() => {
    document.title = text ? `${text} - Continua` : "Continua";
  }, [text]);
}
