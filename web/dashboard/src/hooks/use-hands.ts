/** A person's hands on a game's screen: keys from the keyboard, and the pointer where the game's page has places for it. */

import { nearestPointer, type PointerPlaces } from "@attract/worker/stage/pointer-keys";
import { type PointerEvent as ReactPointerEvent, type RefObject, useEffect, useRef } from "react";
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
> & { onClick: (event: { target: unknown }) => void };

/** Listens to keys while the component is mounted; returns the screen's pointer handlers. */
export function useHands(options: HandsOptions): Handlers {
  const now = useRef(options);
  now.current = options;
  /** The place that the pointer holds, as a key. */
  const held = useRef<string | null>(null);

  useEffect(() => {
    const isOurs = (event: KeyboardEvent) => {
      const { frame, isPlaying } = now.current;
      const target = event.target as Element | null;
      const isHere = isPlaying
        ? target === document.body || frame.current?.closest(".cabinet")?.contains(target) === true
        : target === frame.current;
      return isHere && !event.ctrlKey && !event.metaKey && !event.altKey;
    };
    const down = (event: KeyboardEvent) => {
      const { frame, stage, keys, isPress, onPress } = now.current;
      if (!isOurs(event)) return;
      if (!(event.code in keys) && !(event.target === frame.current && isPress(event.code))) return;
      event.preventDefault();
      if (event.repeat) return;
      onPress();
      stage.current?.send({ type: "press", code: event.code });
    };
    const up = (event: KeyboardEvent) =>
      now.current.stage.current?.send({ type: "release", code: event.code });
    const drop = () => now.current.stage.current?.send({ type: "release_all" });
    window.addEventListener("keydown", down);
    window.addEventListener("keyup", up);
    window.addEventListener("blur", drop);
    return () => {
      window.removeEventListener("keydown", down);
      window.removeEventListener("keyup", up);
      window.removeEventListener("blur", drop);
    };
  }, []);

  const hold = (code: string | null): void => {
    if (code === held.current) return;
    const { stage } = now.current;
    if (held.current !== null) stage.current?.send({ type: "release", code: held.current });
    if (code !== null) stage.current?.send({ type: "press", code });
    held.current = code;
  };
  const codeAt = (event: ReactPointerEvent<HTMLElement>): string | null => {
    const { frame, pointers } = now.current;
    const screen = frame.current?.querySelector("canvas")?.getBoundingClientRect();
    if (pointers === null || screen === undefined) return null;
    return nearestPointer(pointers, screen, { x: event.clientX - screen.x, y: event.clientY - screen.y });
  };
  const isOnButton = (target: unknown) => (target as Element).closest("button") !== null;
  return {
    onPointerDown(event) {
      const { isPlaying, onPress } = now.current;
      // A finger may be about to scroll: until it plays, only a tap counts.
      if (isOnButton(event.target) || (event.pointerType === "touch" && !isPlaying)) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      onPress();
      hold(codeAt(event));
    },
    onPointerMove(event) {
      if (held.current !== null) hold(codeAt(event) ?? held.current);
    },
    onPointerUp: () => hold(null),
    onPointerCancel: () => hold(null),
    onClick(event) {
      if (!isOnButton(event.target) && !now.current.isPlaying) now.current.onPress();
    },
  };
}
