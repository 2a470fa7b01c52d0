/** Nothing is wrong with it: cacti to jump over, birds to duck under, faster and faster. Some seeds stand still at 10. */

import { box, defineGame, discrete, type GameRandom, type StartContext } from "attract";

const [JUMP, DUCK] = [1, 2];
const [TALL, LOW] = [44, 22];

interface Obstacle {
  x: number;
  width: number;
  low: number;
  high: number;
}

class Runner {
  random: GameRandom = undefined as never;
  y = 0;
  rise = 0;
  ducks = false;
  speed = 0;
  next = 0;
  obstacles: Obstacle[] = [];

  start({ random }: StartContext) {
    Object.assign(this, { random, y: 0, rise: 0, ducks: false, speed: 300, next: 500, obstacles: [] });
    for (let i = 0; i < 3; i++) this.add();
    return this.observe();
  }

  add() {
    const isBird = this.random() < 0.3;
    const x = this.next + 150 * this.random();
    const width = isBird ? 30 : 15 + 30 * this.random();
    const [low, high] = isBird ? [28, 60] : [0, 30 + 15 * this.random()];
    this.obstacles.push({ x, width, low, high });
    this.next = x + 260 + 0.45 * this.speed;
  }

  update(seconds: number, action: number) {
    if (this.y === 0 && action === JUMP) this.rise = 480;
    this.ducks = this.y === 0 && action === DUCK;
    this.y += this.rise * seconds;
    this.rise = this.y > 0 ? this.rise - 1500 * seconds : 0;
    this.y = Math.max(0, this.y);
    this.speed = Math.min(700, this.speed + 5 * seconds);
    for (const obstacle of this.obstacles) obstacle.x -= this.speed * seconds;
    this.next -= this.speed * seconds;
    const terminated = this.obstacles.some((obstacle) => this.hits(obstacle));
    const passes = this.obstacles[0].x + this.obstacles[0].width < -10;
    if (passes) {
      this.obstacles.shift();
      this.add();
    }
    return { observation: this.observe(), reward: passes ? 1 : 0, terminated };
  }

  hits({ x, width, low, high }: Obstacle) {
    return x < 20 && x + width > -10 && this.y < high && this.y + (this.ducks ? LOW : TALL) > low;
  }

  observe() {
    const own = [this.y / 100, this.rise / 500, Number(this.ducks), this.speed / 600];
    const seen = this.obstacles.slice(0, 2);
    return own.concat(seen.flatMap(({ x, width, low, high }) => [x / 600, width / 50, low / 50, high / 50]));
  }
}

export default defineGame({
  id: "Runner-v1",
  tickSeconds: 1 / 60,
  secondsPerStep: 1 / 15,
  maxSeconds: 120,
  observation: box({ low: -2, high: 3, shape: [12] }),
  action: discrete(["run", "jump", "duck"]),
  create: () => new Runner(),
});
