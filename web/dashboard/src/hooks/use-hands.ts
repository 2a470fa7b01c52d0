/** A person's hands on a game's screen: keys from the keyboard, and the pointer where the game's page has a use for it. */

import { type PointerPlaces, pointOnPage, pressedPointer } from "@attract/worker/stage/pointer-keys";
import { useWindowEvent } from "@mantine/hooks";
import { type PointerEvent as ReactPointerEvent, type RefObject, useRef } from "react";
import type { Stage } from "../game/stage.ts";

export interface HandsOptions {
  /** The screen, whose first canvas the game lies on. */
  frame: RefObject<HTMLElement | null>;
  stage: RefObject<Stage | null>;
  /** `KeyboardEvent.code` of the game's keys. */
  keys: Readonly<Record<string, unknown>>;
  pointers: PointerPlaces | null;
  /** Whether the person is at the controls: then keys count wherever the page's focus is not another's. */
  isPlaying: boolean;
  /** Whether a key that is none of the game's counts as a press on the screen too. */
  isPress(code: string): boolean;
  /** Called before each press is sent to the stage. */
  onPress(): void;
}

type Handlers = Record<
  "onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel",
  (event: ReactPointerEvent<HTMLElement>) => void
> & {
  onClick: (event: { target: unknown }) => void;
  onContextMenu: (event: { preventDefault: () => void }) => void;
};

/** Listens to keys while the component is mounted; returns the screen's pointer handlers. */
export function useHands({
  frame,
  stage,
  keys,
  pointers,
  isPlaying,
  isPress,
  onPress,
}: HandsOptions): Handlers {
  /** The place that the pointer holds, as a key. */
  const held = useRef<string | null>(null);
  const isOurs = (event: KeyboardEvent) => {
    const target = event.target as Element | null;
    const isHere = isPlaying
      ? target === document.body || frame.current?.closest(".cabinet")?.contains(target) === true
      : target === frame.current;
    return isHere && !event.ctrlKey && !event.metaKey && !event.altKey;
  };
  useWindowEvent("keydown", (event) => {
    if (!isOurs(event)) return;
    if (!(event.code in keys) && !(event.target === frame.current && isPress(event.code))) return;
    event.preventDefault();
    if (event.repeat) return;
    onPress();
    stage.current?.send({ type: "press", code: event.code });
  });
  useWindowEvent("keyup", (event) => stage.current?.send({ type: "release", code: event.code }));
  useWindowEvent("blur", () => stage.current?.send({ type: "release_all" }));

  const hold = (code: string | null): void => {
    if (code === held.current) return;
    if (held.current !== null) stage.current?.send({ type: "release", code: held.current });
    if (code !== null) stage.current?.send({ type: "press", code });
    held.current = code;
  };
  /** The code of what the pointer presses; null: nothing. Where the action has its place, the stage hears of that first. */
  const codeAt = (event: ReactPointerEvent<HTMLElement>): string | null => {
    const screen = frame.current?.querySelector("canvas")?.getBoundingClientRect();
    if (pointers === null || screen === undefined) return null;
    const { clientX, clientY, buttons } = event;
    const point = pointOnPage(pointers.size, screen, { x: clientX - screen.x, y: clientY - screen.y });
    if (point === null) return null;
    if (pointers.hows !== null) stage.current?.send({ type: "aim", ...point });
    return pressedPointer(pointers, point, buttons);
  };
  const isOnButton = (target: unknown) => (target as Element).closest("button") !== null;
  return {
    onPointerDown(event) {
      // A finger may be about to scroll: until it plays, only a tap counts.
      if (isOnButton(event.target) || (event.pointerType === "touch" && !isPlaying)) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      onPress();
      hold(codeAt(event));
    },
    onPointerMove(event) {
      const code = codeAt(event);
      if (held.current !== null) hold(code ?? held.current);
    },
    onPointerUp: () => hold(null),
    onPointerCancel: () => hold(null),
    onContextMenu: (event) => pointers?.hows != null && event.preventDefault(),
    onClick(event) {
      if (!isOnButton(event.target) && !isPlaying) onPress();
    },
  };
}
