/** How Moles is trained: its state is read from the page's elements, since its variables are not reachable. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

const HOLES = Array.from({ length: 9 }, (_, i) => `hole ${i + 1}`);

/** Middles of the holes, wherever the window has them; looked up once, since it costs layout. */
function places(w: PageWindow): [number, number][] {
  w.places ??= [...w.document.querySelectorAll(".hole")].map((hole) => {
    const { x, y, width, height } = hole.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  });
  return w.places;
}

export default definePageGame({
  id: "Moles-v1",
  page: "index.html",
  size: [400, 440],
  ticksPerStep: 12,
  observation: box({ low: 0, high: 1, shape: [9] }),
  action: discrete(["wait", ...HOLES]),
  // What a person plays by: with `act` nothing holds them.
  keys: { wait: [], ...Object.fromEntries(HOLES.map((hole, i) => [hole, [`Digit${i + 1}`]])) },
  pointers: Object.fromEntries(
    HOLES.map((hole, i) => [hole, [100 + 100 * (i % 3), 128 + 100 * Math.floor(i / 3)]]),
  ),
  // Pressed in one half of the step, and let go in the other: a click.
  act(w, action, page) {
    const [x, y] = places(w)[(action as number) - 1] ?? [5, 5];
    page.point(x, y, action !== 0 && page.ticks % 12 < 6);
  },
  ready: (w) => w.document.getElementById("begin") !== null,
  restart(w) {
    w.document.getElementById("begin").disabled = false;
    w.document.getElementById("begin").click();
  },
  observe: (w) => [...w.document.querySelectorAll(".hole")].map((hole) => +(hole.className === "hole up")),
  score: (w) => Number(w.document.getElementById("score").textContent),
  over: (w) => w.document.getElementById("begin").disabled === false,
});
