/** Listens for the keys of the whole page. */

import { useWindowEvent } from "@mantine/hooks";
import { useRef } from "react";
import { areKeysOn, commandOf, type KeyCommand, type Pressed } from "../state/keys.ts";

/** Where a key belongs to what has the focus: fields, and games. */
const TAKES_KEYS =
  "input:not([type=radio], [type=checkbox]), select, textarea, [contenteditable], [role=application], [role=dialog]";

/** Whether a key is for the element that has the focus. */
export function takesKeys(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TAKES_KEYS) !== null;
}

export function useKeys(onCommand: (command: KeyCommand) => void): void {
  const before = useRef<Pressed | null>(null);
  useWindowEvent("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Shift" || takesKeys(event.target) || !areKeysOn()) return;
    const pressed = { key: event.key, atMs: event.timeStamp };
    const command = commandOf(before.current, pressed);
    before.current = command === null ? pressed : null;
    if (command === null) return;
    event.preventDefault();
    onCommand(command);
  });
}
