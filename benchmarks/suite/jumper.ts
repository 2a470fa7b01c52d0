/** A jumper: it bounces from platform to platform, ever higher; a point for every ten pixels of new height. */

import { box, type Context2D, defineGame, discrete, type GameRandom, type StartContext } from "attract";

const WIDTH = 300;
const PLATFORM_WIDTH = 60;
const GRAVITY = 900;
const BOUNCE_SPEED = 480;
const RUN_SPEED = 200;
/** Falling this far below the highest point ends the game. */
const SCREEN_BELOW = 250;

interface Platform {
  x: number;
  y: number;
}

export class Jumper {
  x = 0;
  y = 0;
  fallSpeed = 0;
  highest = 0;
  platforms: Platform[] = [];
  random!: GameRandom;

  start({ random }: StartContext) {
    this.random = random;
    this.x = WIDTH / 2;
    this.y = 0;
    this.fallSpeed = BOUNCE_SPEED;
    this.highest = 0;
    this.platforms = [{ x: WIDTH / 2, y: 0 }];
    this.grow();
    return this.observe();
  }

  update(deltaTime: number, action: number) {
    this.x = (this.x + (action - 1) * RUN_SPEED * deltaTime + WIDTH) % WIDTH;
    const before = this.y;
    this.fallSpeed -= GRAVITY * deltaTime;
    this.y += this.fallSpeed * deltaTime;
    if (this.fallSpeed < 0) {
      const landed = this.platforms.find(
        (p) => before >= p.y && this.y < p.y && Math.abs(shortest(p.x - this.x)) <= PLATFORM_WIDTH / 2,
      );
      if (landed) {
        this.y = landed.y;
        this.fallSpeed = BOUNCE_SPEED;
      }
    }
    const gained = Math.max(0, this.y - this.highest);
    this.highest += gained;
    this.platforms = this.platforms.filter((p) => p.y > this.highest - SCREEN_BELOW);
    this.grow();
    const terminated = this.y < this.highest - SCREEN_BELOW;
    return { observation: this.observe(), reward: gained / 10, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const scale = Math.min(width / WIDTH, height / 500);
    const top = (y: number) => height - (y - this.highest + SCREEN_BELOW) * scale;
    context.clearRect(0, 0, width, height);
    context.fillStyle = "#363";
    for (const p of this.platforms)
      context.fillRect((p.x - PLATFORM_WIDTH / 2) * scale, top(p.y), PLATFORM_WIDTH * scale, 6);
    context.fillStyle = "#c63";
    context.fillRect(this.x * scale - 8, top(this.y) - 16, 16, 16);
  }

  /** New platforms until there are some above the screen. */
  grow() {
    let last = this.platforms[this.platforms.length - 1] ?? { x: WIDTH / 2, y: this.highest };
    while (last.y < this.highest + 400) {
      last = { x: this.random() * WIDTH, y: last.y + 40 + 60 * this.random() };
      this.platforms.push(last);
    }
  }

  /** Where it is, how fast it rises, the highest platform below it and the next three above. */
  observe() {
    const above = this.platforms.findIndex((p) => p.y > this.y);
    const near = [above - 1, above, above + 1, above + 2].map((i) => this.platforms[i]);
    const places = near.flatMap((p) => (p ? [shortest(p.x - this.x), p.y - this.y] : [0, -SCREEN_BELOW]));
    return [this.x, this.fallSpeed, ...places];
  }
}

/** The sides of the screen are joined: the way from side to side that is shorter. */
function shortest(dx: number) {
  if (dx > WIDTH / 2) return dx - WIDTH;
  return dx < -WIDTH / 2 ? dx + WIDTH : dx;
}

export default defineGame({
  id: "Jumper-v1",
  tickSeconds: 1 / 60,
  secondsPerStep: 4 / 60,
  maxSeconds: 60,
  observation: box({ shape: [10] }),
  action: discrete(["left", "stay", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "stay",
  create: () => new Jumper(),
});
