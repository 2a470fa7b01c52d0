/** A duel of two paddles: who misses the ball loses the point, and who has three points wins. */

import { box, type Context2D, defineGame, discrete, type GameRandom, type StartContext } from "attract";

const WIDTH = 200;
const HEIGHT = 120;
const HALF_PADDLE = 12;
const PADDLE_SPEED = 60;
const BALL_SPEED = 120;
const POINTS_TO_WIN = 3;

export class Duel {
  /** Paddles of the left and the right player. */
  paddles = [0, 0];
  x = 0;
  y = 0;
  dx = 0;
  dy = 0;
  points = [0, 0];
  random!: GameRandom;

  start({ random }: StartContext) {
    this.random = random;
    this.paddles = [HEIGHT / 2, HEIGHT / 2];
    this.points = [0, 0];
    this.serve();
    return [this.observe(0), this.observe(1)];
  }

  update(deltaTime: number, actions: ArrayLike<number>) {
    for (const player of [0, 1]) {
      const moved = this.paddles[player] + (actions[player] - 1) * PADDLE_SPEED * deltaTime;
      this.paddles[player] = Math.min(HEIGHT, Math.max(0, moved));
    }
    this.x += this.dx * deltaTime;
    this.y += this.dy * deltaTime;
    if (this.y < 0 || this.y > HEIGHT) {
      this.y = this.y < 0 ? -this.y : 2 * HEIGHT - this.y;
      this.dy = -this.dy;
    }
    let reward = [0, 0];
    if (this.x < 0 || this.x > WIDTH) {
      const player = this.x < 0 ? 0 : 1;
      const place = (this.y - this.paddles[player]) / HALF_PADDLE;
      if (Math.abs(place) <= 1) {
        this.x = this.x < 0 ? -this.x : 2 * WIDTH - this.x;
        this.dx = -this.dx;
        // The edge of a paddle sends the ball steeply away.
        this.dy = BALL_SPEED * place;
      } else {
        reward = player === 0 ? [-1, 1] : [1, -1];
        this.points[1 - player] += 1;
        this.serve();
      }
    }
    const terminated = Math.max(...this.points) === POINTS_TO_WIN;
    return { observation: [this.observe(0), this.observe(1)], reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const scale = Math.min(width / WIDTH, height / HEIGHT);
    context.clearRect(0, 0, width, height);
    context.fillStyle = "#335";
    context.fillRect(0, (this.paddles[0] - HALF_PADDLE) * scale, 4, 2 * HALF_PADDLE * scale);
    context.fillRect(WIDTH * scale - 4, (this.paddles[1] - HALF_PADDLE) * scale, 4, 2 * HALF_PADDLE * scale);
    context.fillStyle = "#c63";
    context.fillRect(this.x * scale - 3, this.y * scale - 3, 6, 6);
  }

  serve() {
    this.x = WIDTH / 2;
    this.y = HEIGHT * (0.25 + 0.5 * this.random());
    this.dx = this.random() < 0.5 ? -BALL_SPEED : BALL_SPEED;
    this.dy = BALL_SPEED * (this.random() - 0.5);
  }

  /** What a player sees, as if it were the left one: its paddle, the other's, the ball and its speed. */
  observe(player: number) {
    const isLeft = player === 0;
    return [
      this.paddles[player],
      this.paddles[1 - player],
      isLeft ? this.x : WIDTH - this.x,
      this.y,
      isLeft ? this.dx : -this.dx,
      this.dy,
    ];
  }
}

export default defineGame({
  id: "Duel-v1",
  tickSeconds: 1 / 30,
  secondsPerStep: 2 / 30,
  maxSeconds: 60,
  numAgents: 2,
  observation: box({ shape: [6] }),
  action: discrete(["up", "stay", "down"]),
  keys: { ArrowUp: "up", ArrowDown: "down" },
  idle: "stay",
  create: () => new Duel(),
});
