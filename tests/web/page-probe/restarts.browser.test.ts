/** Functions of a page whose names suggest a restart. */

import { expect, test } from "vitest";
import { probe } from "../../../web/page-probe/src/probe.ts";
import { found, pageOf } from "./probed-page.ts";

/** Never ends and never scores; `helper.reset` is unrelated to it, and `game.restart` restarts it. */
const ENDLESS = `
  window.helper = { reset() { this.calls = 0; } };
  const fresh = () => ({ x: 50, ballY: 0, far: 0, score: 0 });
  const game = window.game = { ...fresh(), RESTART };
  function tick() {
    game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
    game.far += 0.1;
    game.ballY = (game.ballY + 1.3) % 100;
  }`;

test("a call without visible effect is no restart, even if no end was reached", {
  tags: ["long"],
}, async () => {
  const { restart, moves } = await found(ENDLESS.replace("RESTART", ""));
  expect(moves).toEqual(expect.arrayContaining(["left", "right"]));
  expect(restart).toBeNull();
});

// `make test` has one in a page of inputs.browser.test.ts.
test("a call that resets what is seen is a restart", { tags: ["long"] }, async () => {
  const script = ENDLESS.replace("RESTART", "restart() { Object.assign(this, fresh()); }");
  expect((await found(script)).restart).toBe("w.game.restart()");
});

/** A sketch of p5, as far as a page meets it: `draw` is called for each frame until `noLoop`. */
const SKETCH = `
  let isLooping = true, snake;
  window.p5 = function p5() {};
  window.loop = () => { isLooping = true; };
  window.setup = () => { SETUP };
  const draw = () => {
    snake.x += (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0) + 0.5;
    snake.far += 0.1;
    if (snake.x < 0 || snake.x > 200) isLooping = false;
  };
  snake = window.snake = { x: 50, far: 0 };
  function tick() { if (isLooping) draw(); }`;

test("a sketch of p5 begins anew by its setup, also where it has stopped", { tags: ["long"] }, async () => {
  const script = SKETCH.replace("SETUP", "Object.assign(snake, { x: 50, far: 0 });");
  expect((await found(script)).restart).toBe("(w.setup(), w.loop())");
});

test("where a sketch's setup makes nothing anew it is no restart", { tags: ["long"] }, async () => {
  expect((await found(SKETCH.replace("SETUP", ""))).restart).toBeNull();
});

const MENUS = `
    const fresh = () => ({ x: 100, ballX: 100, ballY: 0, score: 0 });
    const game = window.game = fresh();
    let page = "title";
    const begins = (prompt, code) => {
      context.fillText(prompt, 20, 50);
      if (held[code]) Object.assign(game, fresh(), { ballX: 200 * Math.random() });
      if (held[code]) page = "game";
    };
    function tick() {
      context.clearRect(0, 0, 200, 100);
      if (page === "title") return begins("Press Space to start", "Space");
      if (page === "over") return begins("GAME OVER - press Enter to play again", "Enter");
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.ballY += 2;
      if (game.ballY < 100) return;
      if (Math.abs(game.ballX - game.x) < 60) game.score++;
      else page = "over";
      Object.assign(game, { ballX: 200 * Math.random(), ballY: 0 });
    }`;

test("a menu that begins by one key and an end that asks for another need no fresh page", async () => {
  const { restart, starter, adapter } = await found(MENUS);
  expect(starter).toMatchObject({ kind: "key", code: "Space" });
  expect(restart).toBe("the key Enter, once it is over");
  expect(adapter).toContain('reset: "over"');
  expect(adapter).toContain('["Enter","Space"]');
});

test("a game that hears no input after its restart is begun by it where the page is tested", async () => {
  const script = MENUS.replace("let page", "let isDeaf = false, page")
    .replace('return begins("GAME OVER', 'return (isDeaf = true), begins("GAME OVER')
    .replace("game.x = Math", "if (!isDeaf) game.x = Math");
  const { report } = await probe({ ...pageOf(script), budgetMs: 60_000 }, () => undefined);
  expect(report.restart).toBe("the key Enter, once it is over");
});
