/** Keys to actions: held, tapped, released unseen, several at once. */

import { expect, test } from "vitest";
import { createKeyboard } from "../../../../web/sdk/src/page/keyboard.ts";
import { type ActionSpace, box, discrete, multiBinary } from "../../../../web/sdk/src/spaces.ts";

function keyboardOf(
  space: ActionSpace,
  keys: Record<string, number | number[]>,
  idle: number | number[] | null = null,
) {
  const target = new EventTarget();
  const keyboard = createKeyboard({ keys, idle_action: idle, action: space }, target as never);
  const send = (type: string, code: string, more: object = {}): Event => {
    const event = Object.assign(new Event(type, { cancelable: true }), { code, repeat: false, ...more });
    target.dispatchEvent(event);
    return event;
  };
  return {
    keyboard,
    down: send.bind(null, "keydown"),
    up: send.bind(null, "keyup"),
    blur: () => send("blur", ""),
  };
}

const ARROWS = { ArrowLeft: 0, ArrowRight: 1 };

test("the key pressed last wins while it is held; then the one still held", () => {
  const { keyboard, down, up } = keyboardOf(discrete(3), ARROWS, 2);
  expect(keyboard.choose()).toBe(2);
  down("ArrowLeft");
  down("ArrowRight");
  expect(keyboard.choose()).toBe(1);
  up("ArrowRight");
  expect(keyboard.choose()).toBe(0);
  up("ArrowLeft");
  expect(keyboard.choose()).toBe(2);
});

test("without an idle action the last key's action stays", () => {
  const { keyboard, down, up } = keyboardOf(discrete(3), ARROWS);
  expect(keyboard.choose()).toBe(0);
  down("ArrowRight");
  expect(keyboard.choose()).toBe(1);
  up("ArrowRight");
  expect([keyboard.choose(), keyboard.choose()]).toEqual([1, 1]);
});

test("a tap shorter than a step counts once", () => {
  const { keyboard, down, up } = keyboardOf(discrete(3), ARROWS, 2);
  down("ArrowLeft");
  up("ArrowLeft");
  expect([keyboard.choose(), keyboard.choose()]).toEqual([0, 2]);
});

test("keys released while the window was away are not held for ever", () => {
  const { keyboard, down, blur } = keyboardOf(discrete(3), ARROWS, 2);
  down("ArrowLeft");
  keyboard.choose();
  blur();
  expect(keyboard.choose()).toBe(2);
});

test("the game's keys do not scroll the page; all others, and shortcuts, are left alone", () => {
  const { keyboard, down } = keyboardOf(discrete(3), ARROWS, 2);
  expect(down("ArrowLeft").defaultPrevented).toBe(true);
  expect(down("Tab").defaultPrevented).toBe(false);
  expect(down("ArrowRight", { ctrlKey: true }).defaultPrevented).toBe(false);
  expect(keyboard.choose()).toBe(0);
  keyboard.dispose();
  expect(down("ArrowRight").defaultPrevented).toBe(false);
});

test("several held keys combine where the space has several components", () => {
  const switches = keyboardOf(multiBinary(2), { KeyA: [1, 0], KeyB: [0, 1] });
  switches.down("KeyA");
  expect(switches.keyboard.choose()).toEqual([1, 0]);
  switches.down("KeyB");
  expect(switches.keyboard.choose()).toEqual([1, 1]);
  const wheel = keyboardOf(box({ shape: [1], low: -1, high: 1 }), { KeyA: [-1], KeyD: [1] }, [0]);
  wheel.down("KeyA");
  expect(wheel.keyboard.choose()).toEqual([-1]);
  wheel.down("KeyD");
  expect(wheel.keyboard.choose()).toEqual([0]);
  wheel.up("KeyA");
  expect(wheel.keyboard.choose()).toEqual([1]);
});

test("a key that a control with the focus answers to is the control's", () => {
  const keys = { ArrowLeft: 0, Space: 1 };
  const pressed = (tagName: string, code: string, more: object = {}): [action: unknown, isTaken: boolean] => {
    const target = Object.assign(new EventTarget(), { tagName, ...more });
    const keyboard = createKeyboard({ keys, idle_action: 2, action: discrete(3) }, target as never);
    const event = Object.assign(new Event("keydown", { cancelable: true }), { code, repeat: false });
    target.dispatchEvent(event);
    return [keyboard.choose(), event.defaultPrevented];
  };
  for (const name of ["INPUT", "SELECT", "TEXTAREA"]) {
    expect(pressed(name, "ArrowLeft")).toEqual([2, false]);
    expect(pressed(name, "Space")).toEqual([2, false]);
  }
  for (const name of ["BUTTON", "A", "SUMMARY"]) {
    expect(pressed(name, "ArrowLeft")).toEqual([0, true]);
    expect(pressed(name, "Space")).toEqual([2, false]);
  }
  expect(pressed("DIV", "Space")).toEqual([1, true]);
  expect(pressed("DIV", "Space", { isContentEditable: true })).toEqual([2, false]);
});
