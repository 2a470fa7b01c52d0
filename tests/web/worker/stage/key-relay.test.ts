/** Buttons and keys under the SDK's keyboard controller. */

import { KeyRelay } from "@attract/worker/stage/key-relay";
import { createKeyboard } from "attract/page/keyboard";
import { describe, expect, it } from "vitest";

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

  it("lets everything go at once", () => {
    const relay = new KeyRelay();
    const keyboard = createKeyboard(GAME as never, relay);
    relay.press("ArrowLeft");
    expect(keyboard.choose()).toBe(0);
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
