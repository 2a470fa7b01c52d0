import { expect, test } from "vitest";
import { gameStack, pagePlace } from "../../../../web/worker/src/game/game-stack.ts";

const MODULE = `http://127.0.0.1:80/games/${"a".repeat(64)}.js:3:9`;

test("of a stack the game's own files stay, a page's without where it is served", () => {
  const stack = [
    "TypeError: no",
    "    at hit (http://g1-0a.localhost:80/js/game.js?v=2:12:5)",
    "    at http://g1-0a.localhost:80/:7:1",
    "    at call (http://g1-0a.localhost:80/.attract/page-clock.js:1:2)",
    `    at Game.update (${MODULE})`,
  ].join("\n");
  expect(gameStack(stack)).toBe(
    `    at hit (js/game.js:12:5)\n    at index.html:7:1\n    at Game.update (${MODULE})`,
  );
  expect(pagePlace(stack)).toBe("js/game.js:12:5");
  expect(pagePlace("Error\n    at http://g1-0a.localhost:80/:7:1")).toBe("index.html:7:1");
  for (const none of [`Error\n    at ${MODULE}`, "Error: at (a.js)", "", null, undefined, 5])
    expect(pagePlace(none)).toBe(null);
});
