/** Listens for the keys of the whole page. */

import { useEffect, useRef } from "react";
import { areKeysOn, commandOf, type KeyCommand, type Pressed } from "../state/keys.ts";

/** Where a key belongs to what has the focus: fields, and games. */
const TAKES_KEYS =
  "input:not([type=radio], [type=checkbox]), select, textarea, [contenteditable], [role=application], [role=dialog]";

/** Whether a key is for the element that has the focus. */
export function takesKeys(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TAKES_KEYS) !== null;
}

/** @param onCommand the newest one is called. */
export function useKeys(onCommand: (command: KeyCommand) => void): void {
  const listener = useRef(onCommand);
  listener.current = onCommand;
  useEffect(() => {
    let before: Pressed | null = null;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "Shift" || takesKeys(event.target) || !areKeysOn()) return;
      const pressed = { key: event.key, atMs: event.timeStamp };
      const command = commandOf(before, pressed);
      before = command === null ? pressed : null;
      if (command === null) return;
      event.preventDefault();
      listener.current(command);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
