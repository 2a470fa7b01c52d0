import { afterEach, expect, test, vi } from "vitest";
import { pageConsoleText, ThreadErrors } from "../../../web/playtest/src/thread-errors.ts";

const own = { ...console };

afterEach(() => {
  Object.assign(console, own);
});

function listening() {
  const listeners = new Map<string, (event: unknown) => void>();
  vi.stubGlobal("addEventListener", (name: string, listener: (event: unknown) => void) =>
    listeners.set(name, listener),
  );
  const errors = new ThreadErrors();
  errors.listen();
  return { errors, report: (name: string, event: object) => listeners.get(name)?.(event) };
}

test("console.error is heard with where it was called, and the rest of the console is silent", () => {
  const log = vi.spyOn(console, "log");
  const { errors } = listening();
  console.log("nothing");
  console.warn("nothing");
  expect(errors.hasAny).toBe(false);
  console.error("odd state", { tick: 3 }, new TypeError("x"));
  expect(errors.hasAny).toBe(true);
  const [heard] = errors.take();
  expect(heard.text).toBe('odd state {"tick":3} TypeError: x');
  expect(heard.stack).toContain("thread-errors.test.ts");
  expect(log).not.toHaveBeenCalled();
  expect(errors.hasAny).toBe(false);
  expect(errors.take()).toEqual([]);
});

test("rejections and errors that nobody catches are heard, and end nothing", () => {
  const { errors, report } = listening();
  const preventDefault = vi.fn();
  const error = new RangeError("late");
  report("unhandledrejection", { reason: error, preventDefault });
  report("unhandledrejection", { reason: "text", preventDefault });
  report("error", { error, message: "Uncaught RangeError: late", preventDefault });
  report("error", { error: undefined, message: "Script error.", preventDefault });
  expect(errors.take()).toEqual([
    { text: "unhandled rejection: RangeError: late", stack: error.stack },
    { text: "unhandled rejection: text", stack: null },
    { text: "RangeError: late", stack: error.stack },
    { text: "Script error.", stack: null },
  ]);
  expect(preventDefault).toHaveBeenCalledTimes(4);
});

test("it keeps no more than it can report of", () => {
  const { errors } = listening();
  for (let i = 0; i < 1000; i++) console.error(i);
  expect(errors.take()).toHaveLength(64);
});

test("errors of a page's window are shown as this one's", () => {
  const foreign = { name: "TypeError", message: "x", stack: "TypeError: x\n    at f (http://h/js/a.js:1:2)" };
  expect(pageConsoleText(["odd", foreign, 3])).toBe("odd TypeError: x (js/a.js:1:2) 3");
});
