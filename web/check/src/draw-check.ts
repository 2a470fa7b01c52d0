/** Calls a game's `draw` on a canvas that only listens, and says what would go wrong on a real one. */

import type { Context2D } from "attract/context-2d";
import type { GameDefinition } from "attract/contract";
import { thrownByGame } from "attract/errors";
import { createInstance } from "attract/group-instance";
import { methodSource } from "attract/method-source";
import { observedRow } from "attract/observed";
import { drawActions, RandomPlayer } from "attract/random-play";
import type { Deadline, Report } from "./check-finding.ts";

const DRAWN_STEPS = 20;
const WIDTH = 320;
const HEIGHT = 240;

/** Draws the first steps of an episode; reports exceptions, coordinates that are not numbers, and blank or still pictures. */
export function drawOnce(definition: GameDefinition, report: Report, deadline: Deadline): void {
  const instance = createInstance(definition, { seedLow: 5 });
  const player = new RandomPlayer(definition.action, 5);
  const heard: Heard = { marks: 0, bad: "", calls: [] };
  const context = listeningContext(heard);
  const method = methodSource(instance.game, "draw");
  const pictures = new Set<string>();
  const seen = new Set<string>();
  const draw = (): void => {
    heard.calls = [];
    instance.game.draw?.(context, WIDTH, HEIGHT);
    pictures.add(heard.calls.join(";"));
    seen.add(observedRow(definition, instance).join());
  };
  instance.start(0);
  try {
    for (let step = 0; step < DRAWN_STEPS && !instance.episodeOver && !deadline.isOver; step++) {
      draw();
      instance.step(drawActions(instance, player));
    }
    draw();
  } catch (thrown) {
    const error = thrownByGame("draw", thrown);
    const fix = "fix draw(): training works without it, but the game cannot be watched";
    report({
      id: "draw-throws",
      severity: "error",
      text: error.message,
      fix,
      stack: error.stack ?? null,
      method,
    });
    return;
  }
  if (heard.bad !== "") {
    const text = `draw() called ${heard.bad}: coordinates must be finite numbers`;
    report({
      id: "draw-coordinates",
      severity: "error",
      text,
      fix: "see which of them is never set",
      method,
    });
  }
  if (heard.marks === 0) {
    const text = "draw() drew nothing: neither fill, stroke, text nor image";
    report({
      id: "draw-blank",
      severity: "error",
      text,
      fix: "draw with the context that draw() gets",
      method,
    });
  } else if (pictures.size === 1 && seen.size > DRAWN_STEPS / 2) {
    const text = `draw() drew the same picture ${DRAWN_STEPS} times while the game went on`;
    report({
      id: "draw-unchanging",
      severity: "warning",
      text,
      fix: "draw from the fields that update() changes",
      method,
    });
  }
}

/** What a game drew. */
export interface Heard {
  marks: number;
  bad: string;
  /** Since the picture was begun. */
  calls: string[];
}

/** What calls that return something return. */
const ANSWERS: Readonly<Record<string, unknown>> = {
  measureText: { width: 10 },
  getImageData: { data: new Uint8ClampedArray(4), width: 1, height: 1 },
  createImageData: { data: new Uint8ClampedArray(4), width: 1, height: 1 },
  getTransform: { a: 1, b: 0, c: 0, d: 1, e: 0, f: 0 },
  getLineDash: [],
};

/** A context that draws nothing and notes in `heard` what it was asked for. */
export function listeningContext(heard: Heard): Context2D {
  const known: Record<string, unknown> = { canvas: { width: WIDTH, height: HEIGHT } };
  return new Proxy(known, {
    get(target, name) {
      if (typeof name === "symbol" || name in target) return target[name as string];
      return (...args: unknown[]) => {
        if (/^(fill|stroke|drawImage|putImageData)/.test(name)) heard.marks++;
        if (heard.bad === "" && args.some((arg) => typeof arg === "number" && !Number.isFinite(arg))) {
          heard.bad = `${name}(${args.join(", ")})`;
        }
        heard.calls.push(`${name}(${args.join()})`);
        if (name in ANSWERS) return ANSWERS[name];
        return name.startsWith("create") ? { addColorStop: () => undefined } : undefined;
      };
    },
    set(target, name, value) {
      if (typeof name === "string") {
        target[name] = value;
        heard.calls.push(`${name}=${String(value)}`);
      }
      return true;
    },
  }) as unknown as Context2D;
}
