// @ts-check
// Rebound: keep the ball off the floor. Each rebound makes it faster.

const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector("#field"));
const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
const menu = /** @type {HTMLElement} */ (document.querySelector("#menu"));
const hint = /** @type {HTMLElement} */ (document.querySelector("#hint"));
const bestShown = /** @type {HTMLElement} */ (document.querySelector("#best"));

const { width: WIDTH, height: HEIGHT } = canvas;
const PADDLE = { width: 80, height: 10, y: HEIGHT - 24, speed: 420 };
const RADIUS = 8;
/** Pixels a second: at first, and after many rebounds. */
const SPEED = { first: 240, max: 480, more: 8 };

const game = {
  state: "menu",
  score: 0,
  paddle: { x: WIDTH / 2 },
  ball: { x: WIDTH / 2, y: HEIGHT / 3, vx: 0, vy: 0 },
};
/** @type {Set<string>} */
const held = new Set();
let best = Number(localStorage.getItem("rebound-best") ?? 0);
let last = performance.now();

/** @param {number} angle of flight, 0 is straight; `up` is -1, down 1 */
function send(angle, up = 1) {
  const speed = Math.min(SPEED.max, SPEED.first + SPEED.more * game.score);
  game.ball.vx = speed * Math.sin(angle);
  game.ball.vy = up * speed * Math.cos(angle);
}

function play() {
  game.state = "playing";
  game.score = 0;
  game.paddle.x = WIDTH / 2;
  game.ball.x = WIDTH / 2;
  game.ball.y = HEIGHT / 3;
  send((Math.random() - 0.5) * 2);
  menu.hidden = true;
}

function lose() {
  game.state = "lost";
  if (game.score > best) {
    best = game.score;
    localStorage.setItem("rebound-best", String(best));
  }
  hint.textContent = `Lost after ${game.score} rebounds.`;
  bestShown.textContent = String(best);
  menu.hidden = false;
}

/** @param {number} seconds since the last frame */
function update(seconds) {
  const { ball, paddle } = game;
  const direction = Number(held.has("ArrowRight")) - Number(held.has("ArrowLeft"));
  const half = PADDLE.width / 2;
  paddle.x = Math.min(WIDTH - half, Math.max(half, paddle.x + direction * PADDLE.speed * seconds));
  ball.x += ball.vx * seconds;
  ball.y += ball.vy * seconds;
  if (ball.x < RADIUS) ball.vx = Math.abs(ball.vx);
  if (ball.x > WIDTH - RADIUS) ball.vx = -Math.abs(ball.vx);
  if (ball.y < RADIUS) ball.vy = Math.abs(ball.vy);
  const away = ball.x - paddle.x;
  const isAtPaddle = Math.abs(away) < half + RADIUS && Math.abs(ball.y - PADDLE.y) < RADIUS + PADDLE.height;
  if (ball.vy > 0 && isAtPaddle) {
    game.score++;
    // The farther from the middle, the flatter, and never twice the same.
    send(away / half + (Math.random() - 0.5) * 0.4, -1);
  }
  if (ball.y > HEIGHT + RADIUS) lose();
}

function draw() {
  const { ball, paddle } = game;
  context.fillStyle = "#14213d";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = "#e5e5e5";
  context.fillRect(paddle.x - PADDLE.width / 2, PADDLE.y, PADDLE.width, PADDLE.height);
  context.font = "20px system-ui, sans-serif";
  context.fillText(String(game.score), 12, 28);
  context.fillStyle = "#fca311";
  context.beginPath();
  context.arc(ball.x, ball.y, RADIUS, 0, 2 * Math.PI);
  context.fill();
}

/** @param {number} now milliseconds */
function frame(now) {
  // After a pause in another tab the ball is where it was.
  const seconds = Math.min(0.03, (now - last) / 1000);
  last = now;
  if (game.state === "playing") update(seconds);
  draw();
  requestAnimationFrame(frame);
}

addEventListener("keydown", (event) => {
  held.add(event.code);
  if (event.code === "Space" && game.state !== "playing") play();
});
addEventListener("keyup", (event) => held.delete(event.code));
document.querySelector("#play")?.addEventListener("click", play);
bestShown.textContent = String(best);
requestAnimationFrame(frame);

// The only line for the agent: a module's variables cannot be reached from outside.
Object.assign(window, { game, play });

// Only so that game.page.ts knows their types.
export { game, play };

// With ?agent in its address the page plays by itself while no person does.
if (new URLSearchParams(location.search).has("agent")) import("./agent.ts");
