import type { Game } from "attract/contract";
import { expect, test } from "vitest";
import { InfoWatch } from "../../../web/playtest/src/info-watch.ts";

class Plain {
  info: unknown = { place: Number.NaN, other: 1 };
  update() {
    return { reward: 0, info: this.info };
  }
}

function played(game: object, watch = new InfoWatch({ metrics: { place: "max" } })): InfoWatch {
  watch.begin(game as Game);
  (game as Game).update(0, 0 as never, {} as never);
  return watch;
}

test("it tells of a NaN that is no metric, and of nothing else", () => {
  const game = new Plain();
  const watch = played(game);
  expect(watch.name).toBe(null);
  for (const info of [null, undefined, { far: Number.POSITIVE_INFINITY, text: "NaN" }]) {
    game.info = info;
    expect(played(game, watch).name).toBe(null);
  }
  game.info = { other: Number.NaN };
  expect(played(game, watch).name).toBe("other");
  watch.begin(game as unknown as Game);
  expect(watch.name).toBe(null);
});

test("the game has its own update again, that of its class or of itself", () => {
  const game = new Plain();
  played(game).end();
  expect(Object.hasOwn(game, "update")).toBe(false);
  const update = () => ({ reward: 0 });
  const literal = { update };
  played(literal).end();
  expect(literal.update).toBe(update);
});

test("a frozen game plays unwatched", () => {
  const game = Object.freeze({ update: () => ({ reward: 0, info: { other: Number.NaN } }) });
  expect(played(game).name).toBe(null);
});
