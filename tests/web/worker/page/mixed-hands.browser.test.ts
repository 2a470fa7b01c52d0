/** What a mixed action does to a page, and what an adapter has of it. */

import { expect, test } from "vitest";
import { box, discrete, mixed } from "../../../../web/sdk/src/page/index.ts";
import { hop } from "./hop-page.ts";
import { begun } from "./open-frames.ts";

test("a mixed action aims, presses and holds keys in one step, with or without turns, and act() has its parts", async () => {
  const action = mixed({
    aim: box({ shape: [2], low: 0, high: [400, 200] }),
    button: discrete(["hold", "fire"]),
    legs: discrete(["stand", "run"]),
  });
  for (const turns of [false, true]) {
    const heard: string[] = [];
    const note = (event: PointerEvent) => heard.push(`${event.type} ${event.clientX} ${event.clientY}`);
    const definition = hop({
      action,
      turns,
      keys: { run: ["ShiftLeft"] },
      pointers: { aim: "move", fire: "press" },
      loaded(w) {
        for (const type of ["pointermove", "pointerdown"]) w.addEventListener(type, note);
        w.addEventListener("keydown", ({ code }: KeyboardEvent) => heard.push(code));
      },
      actionMask: true,
      allowed: () => ({ button: [0, 1], legs: [1, 1] }),
    });
    const instance = await begun(definition);
    expect(Array.from(instance.masks[0])).toEqual([0, 1, 1, 1]);
    heard.length = 0;
    for (const flat of [
      [0, 0, 30, 40],
      [1, 1, 50, 60],
    ])
      await instance.take(flat);
    expect(heard).toEqual(["pointermove 30 40", "ShiftLeft", "pointermove 50 60", "pointerdown 50 60"]);
  }
  const given: unknown[] = [];
  const acting = await begun(
    hop({ action, keys: undefined, act: (_w, parts) => given.push(structuredClone(parts)) }),
  );
  acting.step([1, 0, 30, 40]);
  expect(given.at(-1)).toEqual({ button: 1, legs: 0, aim: Float32Array.of(30, 40) });
});

test("an adapter whose masks leave out a part is told which", async () => {
  const definition = hop({
    action: mixed({ aim: box({ shape: [2], low: 0, high: 9 }), button: discrete(2), gear: discrete(2) }),
    keys: undefined,
    act: () => undefined,
    actionMask: true,
    allowed: () => ({ button: [1, 1] }),
  });
  await expect(begun(definition)).rejects.toThrow("allowed() says nothing of gear");
});
