/** Notices of the system for the run on the page: off until a person asks for them, and remembered in this browser. */

import type { RunView } from "@attract/schema";
import { useEffect, useRef, useState } from "react";
import { newsOf } from "../state/run-news.ts";
import { store, stored } from "../state/stored.ts";

const KEY = "attract-notices";

export interface Notices {
  isOn: boolean;
  /** The browser has refused and will not ask again. */
  isRefused: boolean;
  /** Asks the browser for its leave where that is needed; has to be called by a click. */
  toggle: () => void;
}

/** Null where this browser has no notices, as on plain HTTP over a network. */
export function useNotices(run: RunView | null): Notices | null {
  const canNotify = "Notification" in window && window.isSecureContext;
  const [isOn, setOn] = useState(
    () => canNotify && stored(KEY) === "on" && Notification.permission === "granted",
  );
  const [isRefused, setRefused] = useState(() => canNotify && Notification.permission === "denied");
  const last = useRef<RunView | null>(null);
  useEffect(() => {
    if (run === null) return;
    const before = last.current?.run_id === run.run_id ? last.current : null;
    last.current = run;
    if (!isOn) return;
    for (const { title, text } of newsOf(before, run)) show(title, text, run.run_id);
  }, [run, isOn]);
  if (!canNotify) return null;
  const toggle = () => {
    if (isOn) {
      store(KEY, "");
      setOn(false);
      return;
    }
    void Notification.requestPermission().then((answer) => {
      store(KEY, answer === "granted" ? "on" : "");
      setOn(answer === "granted");
      setRefused(answer === "denied");
    });
  };
  return { isOn, isRefused, toggle };
}

function show(title: string, body: string, tag: string): void {
  try {
    const notice = new Notification(title, { body, tag: `${tag} ${title}` });
    notice.onclick = () => window.focus();
  } catch {
    // Browsers of phones allow notices of service workers alone.
  }
}
