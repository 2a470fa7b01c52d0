/** Pages with menus behind one another. */

import { expect, test } from "vitest";
import type { Place } from "../../../web/page-probe/src/places.ts";
import { BY_ITSELF, FIRST_WAIT } from "../../../web/page-probe/src/start-actions.ts";
import { findInputs } from "../../../web/page-probe/src/start-search.ts";
import { found, pageOf } from "./probed-page.ts";

test("menus are pressed through until the game moves with its keys: a button, a drawn word, a key", {
  tags: ["long"],
}, async () => {
  const { starter, moves, score, adapter } = await found(
    `
    const game = window.game = { x: 50, ballX: 100, ballY: 0, score: 0 };
    let page = "title";
    const button = (name, next) => document.getElementById(name).addEventListener("click", () => {
      document.getElementById(name).hidden = true;
      page = next;
    });
    button("new", "help");
    document.querySelector("canvas").addEventListener("click", () => { if (page === "help") page = "name"; });
    function tick() {
      context.clearRect(0, 0, 200, 100);
      if (page === "help") context.fillText("SKIP", 90, 50);
      if (page === "name") {
        context.fillText("Press Enter to continue", 50, 50);
        if (held.Enter) page = "game";
      }
      if (page !== "game") return;
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.ballX += 1;
      game.ballY += 2;
      if (game.ballY < 100) return;
      if (Math.abs(game.ballX - game.x) < 60) game.score++;
      Object.assign(game, { ballX: 200 * Math.random(), ballY: 0 });
    }`,
    `<canvas width="200" height="100"></canvas><button id="new" style="position: absolute; left: 0; top: 0">New game</button>`,
  );
  expect(starter).toMatchObject({ kind: "element", selector: "#new", name: "SKIP", code: "Enter" });
  expect([...moves].sort()).toEqual(["left", "right"]);
  expect(score).toBe("w.game?.score");
  expect(adapter).toContain('const buttons = ["#new"]');
  expect(adapter).toContain('const place = middle ?? spot(w, "SKIP");');
  expect(adapter).toContain('page.hold(isDown && !place ? ["Enter"] : []);');
});

test("a game that plays by itself is tried once, whatever is pressed without effect", async () => {
  const page = pageOf(`
    const game = window.game = { x: 50, far: 0, shots: 0 };
    function tick() {
      game.far += 0.5;
      game.x += (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0);
      if (held.Space) game.shots++;
    }`);
  const places = ["x", "far", "shots"].map(
    (name): Place => ({
      text: `w.game.${name}`,
      name,
      kind: "number",
      fields: [],
      isShown: false,
      read: (window) => window.game[name],
    }),
  );
  const presses = ["Enter", "KeyP", "Space"].map(
    (code) => ({ kind: "key", code, ticks: FIRST_WAIT }) as const,
  );
  const { tried = [], moves } = await findInputs(
    page,
    [BY_ITSELF, ...presses, presses[0]],
    async () => places,
    () => [],
    () => false,
  );
  expect(tried.map(({ startAction }) => startAction)).toEqual([BY_ITSELF, presses[2]]);
  expect(moves.map(({ label }) => label).sort()).toEqual(["left", "right", "space"]);
});
