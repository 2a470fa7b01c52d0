/** Pages that are begun by what they say, or only after a while. */

import { expect, test } from "vitest";
import { probe } from "../../../web/page-probe/src/probe.ts";
import { found, pageOf } from "./probed-page.ts";

test("a menu that reacts to keys is not the game: the game may move once a countdown is over", {
  tags: ["long"],
}, async () => {
  const { starter, moves, score } = await found(`
    const game = window.game = { x: 50, ballX: 100, ballY: 0, speed: 1, score: 0 };
    let began = 0, ticks = 0;
    function tick() {
      ticks++;
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      if (held.Space && began === 0) began = ticks;
      if (began === 0 || ticks < began + 180) return;
      game.speed += 0.01;
      game.ballX += game.speed;
      game.ballY += 2;
      if (game.ballY > 100) {
        if (Math.abs(game.ballX - game.x) < 60) game.score++;
        Object.assign(game, { ballX: 200 * Math.random(), ballY: 0, speed: 1 });
      }
    }`);
  expect(starter).toMatchObject({ kind: "key", code: "Space" });
  expect(moves).toEqual(expect.arrayContaining(["left", "right"]));
  expect(score).toBe("w.game?.score");
});

/** Keeps all to itself, and stands still from one press of Space to the next; draws a player and a stone by `rectangle`. */
const SECRET = `
  let x = 50, y = 0, isPlaying = false, isPaused = false, wasHeld = false;
  function tick() {
    if (held.Space && !wasHeld) isPaused = !isPaused;
    wasHeld = Boolean(held.Space);
    if (isPaused) return;
    context.clearRect(0, 0, 200, 100);
    if (!isPlaying) {
      context.fillText("Press N to start", 50, 50);
      isPlaying = Boolean(held.KeyN);
      return;
    }
    x = Math.max(0, Math.min(190, x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
    y = (y + 2) % 100;
    rectangle(x, 90, 10, 10);
    rectangle(100, y, 10, 12);
  }`;

test("a page that keeps all to itself is begun as it says, seen by what it draws, and not paused", async () => {
  const { starter, moves, seen, sees_pixels, unfinished, end, adapter } = await found(`
    const rectangle = (...box) => context.fillRect(...box);
    ${SECRET}`);
  expect(starter).toMatchObject({ kind: "key", code: "KeyN" });
  expect(moves).toEqual(expect.arrayContaining(["left", "right"]));
  expect(moves).not.toContain("space");
  expect(end).toBeNull();
  const looks = ['drawn(w).things("rect #000000 10x10")', 'drawn(w).things("rect #000000 10x12")'];
  expect([new Set(seen), sees_pixels, unfinished]).toEqual([new Set(looks), false, ["score"]]);
  expect(adapter).toContain("prepare: (w) => void drawn(w)");
});

test("one that sets each pixel itself is seen by its canvas", { tags: ["long"] }, async () => {
  const { starter, seen, sees_pixels, adapter } = await found(`
    const block = new ImageData(new Uint8ClampedArray(400).fill(255), 10, 10);
    const rectangle = (x, y) => context.putImageData(block, x, y);
    ${SECRET}`);
  expect(starter).toMatchObject({ kind: "key", code: "KeyN" });
  expect([seen, sees_pixels]).toEqual([[], true]);
  expect(adapter).toContain("pixels: {}");
});

test("a board of elements in a closure: one click of what begins and pauses, its marks, and the words of its end", async () => {
  const { starter, moves, seen, score, end, adapter } = await found(`
    document.querySelector("canvas").remove();
    document.body.insertAdjacentHTML("beforeend", "<style>.board { width: 80px; display: flex; flex-wrap: wrap } .board * { width: 20px; height: 20px }</style>"
      + "<button class='go'>Start/Pause</button><p>Hit a car and you lose</p><p class='said'></p><div class='board'>" + "<div></div>".repeat(16) + "</div>");
    let at = 13, timer = 0, car = 4;
    const cells = [...document.querySelectorAll(".board div")], said = document.querySelector(".said");
    const go = (to) => { cells[at].classList.remove("frog"); at = to; cells[at].classList.add("frog"); };
    const move = ({ code }) => {
      if (code === "ArrowUp" && at >= 4) go(at - 4);
      if (code === "ArrowLeft" && at % 4 > 0) go(at - 1);
      if (code === "ArrowRight" && at % 4 < 3) go(at + 1);
    };
    const stop = () => { clearInterval(timer); timer = 0; removeEventListener("keydown", move); };
    const step = () => {
      cells[car].classList.remove("car");
      car = car === 7 ? 4 : car + 1;
      cells[car].classList.add("car");
      if (car === at) { said.textContent = "You lose!"; stop(); }
      if (at < 4) { said.textContent = "You win!"; stop(); }
    };
    document.querySelector(".go").addEventListener("click", () => {
      if (timer) return stop();
      timer = setInterval(step, 1000);
      addEventListener("keydown", move);
    });
    function tick() {}`);
  expect(starter).toMatchObject({ kind: "element", selector: ".go", ticks: 10 });
  expect([...moves].sort()).toEqual(["left", "right", "up"]);
  expect(seen).toEqual(
    expect.arrayContaining(['marked(w, ".board > *", ".frog")', 'marked(w, ".board > *", ".car")']),
  );
  expect(score).toBe('says(w, ["You win!"])');
  expect(end).toBe('says(w, ["You lose!","You win!"])');
  expect(adapter).toContain("page.ticks < 8 && page.ticks % 8 < 4");
});

test("a page that reloads itself ends by that, and no function of the browser is a restart", {
  tags: ["long"],
}, async () => {
  const { end, restart, unfinished, adapter } = await found(`
    const game = window.game = { x: 50, stone: 0, points: 0, context, form: document.createElement("form") };
    function tick() {
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.stone += 2;
      if (game.stone < 100) return;
      game.stone = 0;
      game.points++;
      if (Math.abs(game.x - 50) > 30) location.reload();
    }`);
  expect([end, restart, unfinished]).toEqual(["the page reloads itself", null, []]);
  expect(adapter).toContain("page reloads itself, which ends the episode");
});

// Boards are in boards.browser.test.ts too, and promises between frames in page-check.browser.test.ts.
test("a board of plain cells is clicked and seen, also of a game that waits for promises between its frames", {
  tags: "long",
}, async () => {
  const cells = `<style>#board { width: 90px; display: flex; flex-wrap: wrap } i { width: 30px; height: 30px }</style>
    <div id="board">${"<i></i>".repeat(9)}</div>`;
  const { moves, seen, end, adapter } = await found(
    `
    let turn = 0, waited = 0, counter = 0;
    window.clock = { get waited() { return waited; }, get counter() { return counter; } };
    const all = [...document.querySelectorAll("i")];
    for (const cell of all) cell.addEventListener("click", () => {
      if (cell.textContent !== "") return;
      cell.textContent = "XO"[turn++ % 2];
      if (turn === 9) alert("It's a draw!");
    });
    (async () => {
      for (;;) {
        await new Promise(requestAnimationFrame);
        for (let i = 0; i < 20; i++) await null;
        waited++;
        if (waited % 2) counter++;
      }
    })();
    const tick = () => undefined;`,
    cells,
  );
  expect(moves).toEqual(Array.from({ length: 9 }, (_, i) => `cell ${i + 1}`));
  expect(seen).toEqual(
    expect.arrayContaining(['marked(w, "#board > *", "=X")', 'marked(w, "#board > *", "=O")']),
  );
  expect(end).toContain("It's a draw!");
  expect(adapter).toContain("turns: true");
});

// `make test` has one in the page above that keeps all to itself.
test("a key that has all stand still until it is pressed again pauses, and is no move", {
  tags: ["long"],
}, async () => {
  const { moves, end } = await found(`
    const game = window.game = { x: 50, ballX: 100, ballY: 0, turn: 0, score: 0, state: 1, frames: 0 };
    let wasHeld = false;
    function tick() {
      game.frames++;
      if (held.Space && !wasHeld) game.state = -game.state;
      wasHeld = Boolean(held.Space);
      if (game.state < 0) return;
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.ballY = (game.ballY + 2) % 100;
      game.ballX = 100 + 50 * Math.sin((game.turn += 0.1));
      if (game.ballY === 0 && Math.abs(game.ballX - game.x) < 60) game.score++;
    }`);
  expect(moves).toEqual(expect.arrayContaining(["left", "right"]));
  expect(moves).not.toContain("space");
  expect(end).toBeNull();
});

test("a key that restarts the game in mid-play is no move", { tags: ["long"] }, async () => {
  const { moves, score } = await found(`
    const fresh = () => ({ x: 50, depth: 0, ballY: 0, turn: 0, speed: 1, score: 0 });
    const game = window.game = fresh();
    function tick() {
      if (held.Enter) Object.assign(game, fresh());
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      if (held.Space) game.depth = 0;
      game.depth++;
      game.turn += 0.1;
      game.speed *= 1.001;
      if ((game.ballY += game.speed) < 100) return;
      game.ballY = 0;
      game.score++;
    }`);
  expect(moves).toEqual(expect.arrayContaining(["left", "right", "space"]));
  expect(moves).not.toContain("enter");
  expect(score).toBe("w.game?.score");
});

test("a key that ends the game where it is held, and does something where it is not, is a move", {
  tags: ["long"],
}, async () => {
  const { moves } = await found(`
    const game = window.game = { x: 50, ballX: 100, ballY: 0, turn: 0, shots: 0, over: false };
    let heat = 0;
    function tick() {
      heat = held.Space ? heat + 1 : 0;
      if (heat === 1) game.shots++;
      game.over ||= heat >= 7;
      if (game.over) return;
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.ballY = (game.ballY + 2) % 100;
      game.ballX = 100 + 50 * Math.sin((game.turn += 0.1));
    }`);
  expect(moves).toEqual(expect.arrayContaining(["left", "right", "space"]));
});

test("a click that makes a thing appear is a move", { tags: ["long"] }, async () => {
  const { moves } = await found(`
    const game = window.game = { x: 50, ballX: 100, ballY: 0, score: 0 };
    let isBegun = false;
    addEventListener("pointerdown", () => { if (isBegun) game.shot = { x: game.x, y: 90 }; });
    function tick() {
      context.clearRect(0, 0, 200, 100);
      if (!isBegun) context.fillText("Press Space to start", 20, 50);
      isBegun ||= held.Space;
      if (!isBegun) return;
      game.x = Math.max(0, Math.min(200, game.x + (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0)));
      game.ballY = (game.ballY + 2) % 100;
      if (game.shot) game.shot.y -= 4;
      if (!game.shot || Math.hypot(game.shot.x - game.ballX, game.shot.y - game.ballY) > 20) return;
      game.score++;
      Object.assign(game, { ballX: 200 * Math.random(), ballY: 0, shot: { x: -100, y: -100 } });
    }`);
  expect([...moves].sort()).toEqual(["click", "left", "right"]);
});

test("keys that count when they are released are tapped", { tags: ["long"] }, async () => {
  const { moves, taps, adapter } = await found(`
    const game = window.game = { x: 50, y: 50, score: 0 };
    addEventListener("keyup", ({ code }) => {
      game.x += Number(code === "ArrowRight") - Number(code === "ArrowLeft");
      game.y += Number(code === "ArrowDown") - Number(code === "ArrowUp");
      if (code === "ArrowUp") game.score++;
    });
    function tick() {}`);
  expect([...moves].sort()).toEqual(["down", "left", "right", "up"]);
  expect(taps).toBe(true);
  expect(adapter).toContain("taps: true");
});

test("a wall after a step says nothing of whether keys are tapped", { tags: ["long"] }, async () => {
  const { taps } = await found(`
    const game = window.game = { x: 0, y: 0, score: 0 };
    addEventListener("keydown", ({ code }) => {
      if (code === "ArrowRight") game.x = Math.min(1, game.x + 1);
      if (code === "ArrowLeft") game.x = Math.max(0, game.x - 1);
      if (code === "ArrowDown") game.y = Math.min(9, game.y + 1);
      if (code === "ArrowUp") game.y = Math.max(0, game.y - 1);
      if (game.y === 9) game.score++;
    });
    function tick() {}`);
  expect(taps).toBe(true);
});

// `make test` has cells that are clicked in a shadow root below.
test("all cards of a board are clicked, not only those of one colour", { tags: ["long"] }, async () => {
  const colours = ["red", "blue", "green", "red", "blue", "green"];
  const { moves, adapter } = await found(
    `
    const game = window.game = { turned: 0, score: 0 };
    let last = null;
    for (const card of document.querySelectorAll("#cards div")) card.addEventListener("click", () => {
      card.classList.add("clicked");
      game.turned++;
      if (last !== null && last !== card && last.classList[0] === card.classList[0]) game.score++;
      last = card;
    });
    function tick() {}`,
    `<style>#cards { width: 40px; display: flex; flex-wrap: wrap } #cards div { width: 30px; height: 30px }</style>
    <div id="cards">${colours.map((colour) => `<div class="${colour}"></div>`).join("")}</div>`,
  );
  expect(moves).toEqual(colours.map((_, i) => `cell ${i + 1}`));
  // The window of 100 pixels shows three of the four rows.
  expect(adapter).toContain("size: [200, 188]");
});

/** A mouse at x and y of the window, with its button. */
const MOUSE = `
  const mouse = { x: 100, y: 50, down: false };
  addEventListener("mousemove", ({ clientX, clientY }) => { mouse.x = clientX; mouse.y = clientY; });
  addEventListener("mousedown", () => { mouse.down = true; });
  addEventListener("mouseup", () => { mouse.down = false; });
  let turn = 0;`;

test("where something follows the pointer along one direction it gets a row of places", {
  tags: ["long"],
}, async () => {
  const { moves, adapter } = await found(`${MOUSE}
    const game = window.game = { paddle: { x: 100 }, ball: { x: 100, y: 0 }, score: 0 };
    function tick() {
      game.paddle.x = mouse.x;
      game.ball.x = 100 + 50 * Math.sin(turn += 0.1);
      game.ball.y = (game.ball.y + 2) % 100;
      if (game.ball.y === 0 && Math.abs(game.ball.x - game.paddle.x) < 60) game.score++;
    }`);
  expect(moves).toEqual(Array.from({ length: 9 }, (_, i) => `point ${i + 1}`));
  // Ninths of the window's width of 200, from the middle of the first to that of the last.
  expect(adapter).toContain('"point 1": [11, 50, "move"]');
  expect(adapter).toContain('"point 9": [189, 50, "move"]');
});

test("the pointer is tried up and down, and with the button where that does more", {
  tags: ["long"],
}, async () => {
  const { moves, adapter } = await found(`${MOUSE}
    const game = window.game = { plane: { y: 50 }, shots: 0, hill: { x: 100 }, score: 0 };
    let wasDown = false;
    function tick() {
      game.plane.y += (mouse.y - game.plane.y) / 8;
      if (mouse.down && !wasDown) game.shots++;
      wasDown = mouse.down;
      game.hill.x = (game.hill.x + 198) % 200;
      if (game.hill.x === 0) game.score++;
      turn += 0.1;
    }`);
  expect(moves).toEqual(Array.from({ length: 9 }, (_, i) => `click ${i + 1}`));
  expect(adapter).toContain('"click 1": [100, 6]');
});

function dragged(keys: string): ReturnType<typeof found> {
  return found(`${MOUSE}
    const game = window.game = { ship: { x: 100, y: 50 }, stone: { x: 100 }, score: 0 };
    function tick() {
      if (mouse.down) Object.assign(game.ship, { x: mouse.x, y: mouse.y });
      ${keys}
      game.stone.x = (game.stone.x + 198) % 200;
      if (game.stone.x === 0) game.score++;
      turn += 0.1;
    }`);
}

test("what is dragged with the button down gets a square of places", { tags: ["long"] }, async () => {
  const { moves, adapter } = await dragged("");
  expect(moves).toEqual(Array.from({ length: 9 }, (_, i) => `click ${i + 1}`));
  expect(adapter).toContain('"click 1": [33, 17]');
});

test("where keys move the same as the pointer, the keys are enough", { tags: ["long"] }, async () => {
  const { moves } = await dragged(`
    game.ship.x += (held.ArrowRight ? 4 : 0) - (held.ArrowLeft ? 4 : 0);
    game.ship.y += (held.ArrowDown ? 4 : 0) - (held.ArrowUp ? 4 : 0);`);
  expect([...moves].sort()).toEqual(["down", "left", "right", "up"]);
});

test("a game in a shadow root, a flag by the right button, a dragged card, a gamepad and a restart are found", async () => {
  const { moves, score, restart, adapter } = await found(
    `const fresh = () => ({ lane: 1, flags: 0, piles: 0, x: 50, far: 0, score: 0, ticks: 0 });
    const game = window.game = { ...fresh(), restart() { Object.assign(this, fresh()); } };
    const root = document.querySelector("lane-game").attachShadow({ mode: "open" });
    root.innerHTML = '<p>Score: <b id="score">0</b></p>' + ["left", "flag", "card", "pile"].map((id, i) =>
      '<i id="' + id + '" style="position: absolute; width: 30px; height: 30px; top: 60px; left: ' + 40 * i + 'px"></i>').join("");
    const of = (id) => root.getElementById(id);
    of("left").addEventListener("click", () => { game.lane++; });
    of("flag").addEventListener("contextmenu", (event) => { event.preventDefault(); game.flags += 2; });
    of("card").draggable = true;
    of("card").addEventListener("dragstart", () => undefined);
    of("pile").addEventListener("dragover", (event) => event.preventDefault());
    of("pile").addEventListener("drop", () => { game.piles += 3; });
    function tick() {
      if (++game.ticks % 10 === 0) game.score += game.lane;
      game.far += 0.1;
      const pad = navigator.getGamepads().find((one) => one !== null);
      game.x = Math.max(0, Math.min(200, game.x + 3 * (pad?.axes[0] ?? 0)));
      of("score").textContent = game.score;
    }`,
    "<lane-game></lane-game>",
  );
  expect(moves).toEqual(expect.arrayContaining(["right 1", "drag 1 to 1", "padstickleft", "padstickright"]));
  expect(restart).toBe("w.game.restart()");
  expect(adapter).toContain('"right"]');
  expect(adapter).toContain('"PadStickLeft"');
  expect(adapter).toMatch(/"drag", \[\d+, \d+\]\]/);
  expect(score).toMatch(/score/);
});

test("on a phone a finger plays: it taps and swipes, and there are no keys", async () => {
  const page = pageOf(`
    const game = window.game = { lane: 5, row: 5, jump: 0, ball: 0, score: 0 };
    let from = null;
    addEventListener("touchstart", ({ touches: [{ clientX, clientY }] }) => { from = [clientX, clientY]; });
    addEventListener("touchend", ({ changedTouches: [{ clientX, clientY }] }) => {
      const [x, y] = [clientX - from[0], clientY - from[1]];
      if (Math.hypot(x, y) < 20) game.jump = 8;
      else if (Math.abs(x) > Math.abs(y)) game.lane += Math.sign(x);
      else game.row += Math.sign(y);
    });
    addEventListener("keydown", () => { game.lane += 1; });
    function tick() {
      if (game.jump > 0) game.jump--;
      game.ball = (game.ball + 2) % 100;
      game.score += 1;
      context.fillRect(20 * game.lane, 10 * game.row + game.jump, 10, 10);
    }`);
  const { report } = await probe({ ...page, touch: true, device: "phone" }, () => undefined);
  expect(report.moves.filter((move) => move.startsWith("swipe")).sort()).toEqual([
    "swipe down",
    "swipe left",
    "swipe right",
    "swipe up",
  ]);
  expect(report.moves.filter((move) => !/^(swipe|click)/.test(move))).toEqual([]);
});

test("of keys that few pages heed, those that do something are found among those that do nothing", async () => {
  const { moves } = await found(`
    const game = window.game = { x: 50, y: 50, score: 0 };
    function tick() {
      game.x = Math.max(0, Math.min(200, game.x + (held.KeyJ ? 4 : 0) - (held.KeyC ? 4 : 0)));
      game.y = (game.y + 1) % 100;
      if (game.y === 0 && game.x > 60) game.score++;
    }`);
  expect(moves).toEqual(["c", "j"]);
});
