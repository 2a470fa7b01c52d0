/** Buttons and keys under the SDK's keyboard controller. */

import { createKeyboard } from "attract/page/keyboard";
import { describe, expect, it } from "vitest";
import { KeyRelay } from "../../../../web/dashboard/src/game/key-relay.ts";

const GAME = {
  keys: { ArrowLeft: 0, ArrowRight: 1 },
  idle_action: 2,
  action: { kind: "discrete", n: 3, labels: null },
} as const;

describe("KeyRelay", () => {
  it("a button held is a key held", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    expect(keyboard.choose()).toBe(2);
    relay.press("ArrowRight");
    expect(keyboard.choose()).toBe(1);
    expect(keyboard.choose()).toBe(1);
    relay.release("ArrowRight");
    expect(keyboard.choose()).toBe(2);
  });

  it("passes on the keyboard's own events, and lets everything go at once", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    let prevented = 0;
    const event = { code: "ArrowLeft", repeat: false, ctrlKey: false, metaKey: false, altKey: false };
    relay.pass("keydown", { ...event, preventDefault: () => prevented++ });
    expect([keyboard.choose(), prevented]).toEqual([0, 1]);
    relay.releaseAll();
    expect(keyboard.choose()).toBe(2);
  });

  it("after dispose nothing is heard", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    keyboard.dispose();
    relay.press("ArrowRight");
    expect(keyboard.choose()).toBe(2);
  });
});
