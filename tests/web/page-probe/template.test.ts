import { expect, test } from "vitest";
import { code } from "../../../web/page-probe/src/template.ts";

function game(turns: boolean, steps: readonly string[], seed: string | null): string {
  return code`
    id: ${'"A$&-v1"'},
    // It waits.
    turns: ${turns},
    restart(w) {
      ${steps}
      w.begin();
    },
    ${code`
      seed: (w) => ${seed},
      over: () => false,`}`;
}

test("a statement whose slot has nothing is left out with its comment and what is below it", () => {
  expect(game(false, [], null)).toBe('id: "A$&-v1",\nover: () => false,');
  expect(game(true, [], "w.seed(1)")).toBe(
    'id: "A$&-v1",\n// It waits.\nturns: true,\nseed: (w) => w.seed(1),\nover: () => false,',
  );
});

test("lines that fill a slot are indented as it is", () => {
  expect(game(false, ["w.a = 1;", "if (w.b) {\n  w.c();\n}"], null)).toContain(
    "restart(w) {\n  w.a = 1;\n  if (w.b) {\n    w.c();\n  }\n  w.begin();\n},\n",
  );
});
