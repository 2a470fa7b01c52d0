/** The clock of a page that shows recorded episodes: frames move it, keys steer it, stages follow it. */

import { useWindowEvent } from "@mantine/hooks";
import { type RefObject, useEffect, useMemo, useReducer } from "react";
import type { Stage } from "../game/stage.ts";
import { steering, Transport } from "../game/transport.ts";

/** The page's own texts follow this often; pictures follow each frame. */
const DRAW_MS = 100;

export interface TransportOptions {
  /** In game time. */
  length: number;
  stepSeconds: number;
  /** Where it begins. @see Transport */
  at: number;
  /** The stages that follow; the same array at each call. */
  stages: readonly RefObject<Stage | null>[];
}

/** The clock, and a way to steer it: the page is drawn anew at once. */
export function useTransport({ length, stepSeconds, at, stages }: TransportOptions) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const transport = useMemo(() => new Transport(length, stepSeconds, at), [length, stepSeconds, at]);
  const steer = useMemo(
    () => (change: (transport: Transport) => void) => {
      change(transport);
      draw();
    },
    [transport],
  );

  useEffect(() => {
    transport.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    let last: number | null = null;
    let drawn = { when: 0, seconds: -1, isPlaying: false };
    let handle = requestAnimationFrame(function frame(now) {
      handle = requestAnimationFrame(frame);
      const present = stages.flatMap(({ current }) => (current === null ? [] : [current]));
      // What it waits for the pictures it makes up for, up to a tenth of a second.
      if (!present.some((stage) => stage.isBehind)) {
        transport.frame(now - (last ?? now));
        last = now;
      }
      const { seconds, isPlaying } = transport;
      for (const stage of present) stage.go(seconds);
      const isOld = drawn.seconds !== seconds || drawn.isPlaying !== isPlaying;
      if (!isOld || now - drawn.when < DRAW_MS) return;
      drawn = { when: now, seconds, isPlaying };
      draw();
    });
    return () => cancelAnimationFrame(handle);
  }, [transport, stages]);

  useWindowEvent("keydown", (event) => {
    const change = steering(event);
    if (change === null) return;
    event.preventDefault();
    steer(change);
  });

  return { transport, steer };
}
