// Juggler: keep a ball in the air with a paddle. Drawn by PixiJS, moved by matter-js.
import Matter from "matter-js";
import { Application, Graphics, Text } from "pixi.js";

const WIDTH = 400;
const HEIGHT = 400;
const app = new Application();
await app.init({ width: WIDTH, height: HEIGHT, background: "#14213d" });
document.body.append(app.canvas);

const engine = Matter.Engine.create({ gravity: { y: 0.6 } });
const wall = (x) =>
  Matter.Bodies.rectangle(x, HEIGHT / 2, 40, HEIGHT * 3, { isStatic: true, restitution: 1 });
const ball = Matter.Bodies.circle(WIDTH / 2, 80, 14, { restitution: 1, friction: 0, frictionAir: 0 });
const paddle = Matter.Bodies.rectangle(WIDTH / 2, HEIGHT - 30, 90, 14, { isStatic: true, restitution: 1 });
Matter.Composite.add(engine.world, [wall(-20), wall(WIDTH + 20), ball, paddle]);

const ballView = new Graphics().circle(0, 0, 14).fill("#fca311");
const paddleView = new Graphics().rect(-45, -7, 90, 14).fill("#e5e5e5");
const label = new Text({ text: "Space to begin", style: { fill: "#ffffff", fontSize: 16 } });
app.stage.addChild(ballView, paddleView, label);

const game = { state: "title", hits: 0, ball, paddle };
const held = new Set();

function begin() {
  game.state = "playing";
  game.hits = 0;
  Matter.Body.setPosition(ball, { x: 60 + Math.random() * (WIDTH - 120), y: 80 });
  Matter.Body.setVelocity(ball, { x: Math.random() * 6 - 3, y: 0 });
  Matter.Body.setPosition(paddle, { x: WIDTH / 2, y: HEIGHT - 30 });
}

Matter.Events.on(engine, "collisionStart", ({ pairs }) => {
  for (const { bodyA, bodyB } of pairs) {
    if (![bodyA, bodyB].includes(paddle) || ![bodyA, bodyB].includes(ball)) continue;
    game.hits++;
    // The further from the middle, the further it flies to that side.
    const x = (ball.position.x - paddle.position.x) / 10 + Math.random() * 2 - 1;
    Matter.Body.setVelocity(ball, { x, y: -11 });
  }
});
addEventListener("keydown", ({ code }) => {
  held.add(code);
  if (code === "Space" && game.state !== "playing") begin();
});
addEventListener("keyup", ({ code }) => held.delete(code));

app.ticker.add((ticker) => {
  if (game.state === "playing") {
    const direction = (held.has("ArrowRight") ? 1 : 0) - (held.has("ArrowLeft") ? 1 : 0);
    const x = Math.min(WIDTH - 45, Math.max(45, paddle.position.x + direction * 0.35 * ticker.deltaMS));
    Matter.Body.setPosition(paddle, { x, y: HEIGHT - 30 });
    Matter.Engine.update(engine, 1000 / 60);
    if (ball.position.y > HEIGHT + 20) game.state = "over";
  }
  ballView.position.copyFrom(ball.position);
  paddleView.position.copyFrom(paddle.position);
  label.text = game.state === "playing" ? String(game.hits) : `${game.hits} hits. Space`;
});
window.juggler = { game, begin };
