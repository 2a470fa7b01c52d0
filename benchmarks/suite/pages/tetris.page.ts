/** How Tetris (jakesgordon/javascript-tetris) is trained: a step places a piece, by the keys that a person presses. */

import { box, definePageGame, discrete, type PageWindow } from "attract/page";

const COLUMNS = 10;
const ROWS = 20;
const TURNS = 4;

/** Height of each column, and its number of gaps under the top; as shares of the court. */
function columns(w: PageWindow): number[] {
  return Array.from({ length: COLUMNS }, (_, x) => {
    const filled = Array.from({ length: ROWS }, (_, y) => Boolean(w.blocks[x]?.[y]));
    const top = filled.indexOf(true);
    const height = top < 0 ? 0 : ROWS - top;
    return [height / ROWS, (height - filled.filter(Boolean).length) / ROWS];
  }).flat();
}

/** What a court is worth: gaps under a column's top and steps from column to column are bad. */
function worth(w: PageWindow): number {
  const seen = columns(w);
  let bad = 0;
  for (let x = 0; x < COLUMNS; x++) {
    bad += 4 * seen[2 * x + 1] * ROWS;
    if (x > 0) bad += Math.abs(seen[2 * x] - seen[2 * x - 2]) * ROWS;
  }
  return -bad / 40;
}

/** Which place of the piece has its leftmost block in a column, or as near to it as the court allows. */
function placeOf(w: PageWindow, column: number, turn: number): number {
  const xs: number[] = [];
  w.eachblock(w.current.type, 0, 0, turn, (x: number) => xs.push(x));
  return Math.min(column, COLUMNS - 1 - Math.max(...xs) + Math.min(...xs)) - Math.min(...xs);
}

const oneOf = (index: number, count: number) => Array.from({ length: count }, (_, i) => Number(i === index));

export default definePageGame({
  id: "Tetris-v1",
  page: "index.html",
  size: [800, 700],
  // Enough to turn a piece, to move it, and to bring it down: each row is a press and a release.
  ticksPerStep: 60,
  maxSeconds: 300,
  observation: box({ low: 0, high: 1, shape: [2 * COLUMNS + 7 + 7] }),
  action: discrete(COLUMNS * TURNS),
  keys: {},
  act(w, action, page) {
    const turn = Math.floor((action as number) / COLUMNS);
    w.piece ??= w.current;
    if (w.piece !== w.current || page.ticks % 2 === 1) return page.hold([]);
    const place = placeOf(w, (action as number) % COLUMNS, turn);
    if (w.current.dir !== turn) page.hold(["ArrowUp"]);
    else if (w.current.x !== place) page.hold([w.current.x < place ? "ArrowRight" : "ArrowLeft"]);
    else page.hold(["ArrowDown"]);
  },
  ready: (w) => w.blocks != null && w.current != null,
  restart(w) {
    if (w.playing) w.lose();
    // The bag of pieces and the next of them outlive the game's own restart.
    w.pieces = [];
    w.setNextPiece();
  },
  menu: (_w, page) => page.hold(page.ticks % 2 ? ["Space"] : []),
  playing: (w) => w.playing,
  observe(w) {
    w.piece = null;
    const kinds = [w.i, w.j, w.l, w.o, w.s, w.t, w.z];
    return [
      ...columns(w),
      ...oneOf(kinds.indexOf(w.current.type), 7),
      ...oneOf(kinds.indexOf(w.next.type), 7),
    ];
  },
  // Points alone say little of how a piece should lie: a court in order is a reward on the way.
  score: (w) => w.score / 100 + (w.playing ? worth(w) : 0),
  info: (w) => ({ points: w.score, rows: w.rows }),
  metrics: { points: "last", rows: "last" },
  over: (w) => !w.playing,
});
