/** Functions of a page that are called as if they began it anew. */

import { expect, test } from "vitest";
import { found } from "./probed-page.ts";

/** Goes on for ever, and nobody scores; `helper.reset` has nothing to do with it, and `game.restart` begins it anew. */
const ENDLESS = `
  window.helper = { reset() { this.calls = 0; } };
  const fresh = () => ({ x: 50, ballY: 0, far: 0, score: 0 });
  const game = window.game = { ...fresh(), RESTART };
  function tick() {
    game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
    game.far += 0.1;
    game.ballY = (game.ballY + 1.3) % 100;
  }`;

test("what changes nothing that is seen begins nothing anew, even where no end was ever reached", async () => {
  const { restart, moves } = await found(ENDLESS.replace("RESTART", ""));
  expect(moves).toEqual(expect.arrayContaining(["left", "right"]));
  expect(restart).toBeNull();
});

test("what sets anew what is seen does", async () => {
  const script = ENDLESS.replace("RESTART", "restart() { Object.assign(this, fresh()); }");
  expect((await found(script)).restart).toBe("w.game.restart()");
});
