/** A drone with two thrusters collects beacons: 10 points each; flying into a wall ends the flight. */

import { box, type Context2D, defineGame, type GameRandom, type StartContext } from "attract";

const SIZE = 10;
const GRAVITY = 2;
/** Acceleration at full thrust, to the side and up or down. */
const MAX_THRUST = 6;
const BEACON_RADIUS = 0.6;

export class Thruster {
  x = 0;
  y = 0;
  vx = 0;
  vy = 0;
  beacon = { x: 0, y: 0 };
  random!: GameRandom;

  start({ random }: StartContext) {
    this.random = random;
    this.x = SIZE / 2;
    this.y = SIZE / 2;
    this.vx = 0;
    this.vy = 0;
    this.placeBeacon();
    return this.observe();
  }

  update(deltaTime: number, action: ArrayLike<number>) {
    this.vx += MAX_THRUST * action[0] * deltaTime;
    this.vy += (MAX_THRUST * action[1] - GRAVITY) * deltaTime;
    this.x += this.vx * deltaTime;
    this.y += this.vy * deltaTime;
    let reward = 0;
    if (Math.hypot(this.x - this.beacon.x, this.y - this.beacon.y) < BEACON_RADIUS) {
      reward = 10;
      this.placeBeacon();
    }
    const terminated = this.x < 0 || this.x > SIZE || this.y < 0 || this.y > SIZE;
    return { observation: this.observe(), reward, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const scale = Math.min(width, height) / SIZE;
    context.clearRect(0, 0, width, height);
    context.strokeRect(0, 0, SIZE * scale, SIZE * scale);
    context.fillStyle = "#da2";
    context.beginPath();
    context.arc(this.beacon.x * scale, (SIZE - this.beacon.y) * scale, BEACON_RADIUS * scale, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = "#335";
    context.fillRect(this.x * scale - 5, (SIZE - this.y) * scale - 5, 10, 10);
  }

  placeBeacon() {
    this.beacon = { x: 1 + (SIZE - 2) * this.random(), y: 1 + (SIZE - 2) * this.random() };
  }

  observe() {
    return [this.x, this.y, this.vx, this.vy, this.beacon.x - this.x, this.beacon.y - this.y];
  }
}

export default defineGame({
  id: "Thruster-v1",
  tickSeconds: 1 / 30,
  secondsPerStep: 3 / 30,
  maxSeconds: 30,
  observation: box({ shape: [6] }),
  action: box({ shape: [2], low: -1, high: 1 }),
  keys: { ArrowLeft: [-1, 0.3], ArrowRight: [1, 0.3], ArrowUp: [0, 1], ArrowDown: [0, -1] },
  idle: [0, 0.3],
  create: () => new Thruster(),
});
