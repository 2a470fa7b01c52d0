/** Acrobot-v1 by Gymnasium's rules: two links, a motor in the elbow, -1 a step until the tip is above the line. */

import { box, type Context2D, defineGame, discrete, type StartContext } from "attract";

const MASS = 1;
const LENGTH = 1;
const CENTER = 0.5;
const INERTIA = 1;
const GRAVITY = 9.8;
const MAX_SPIN_1 = 4 * Math.PI;
const MAX_SPIN_2 = 9 * Math.PI;

export class Acrobot {
  /** Angle of the first link from hanging down, of the second from the first, and their speeds. */
  state = [0, 0, 0, 0];

  start({ random }: StartContext) {
    this.state = [0, 0, 0, 0].map(() => 0.2 * random() - 0.1);
    return this.observe();
  }

  update(deltaTime: number, action: number) {
    const [angle1, angle2, spin1, spin2] = rungeKutta(this.state, action - 1, deltaTime);
    this.state = [
      wrap(angle1),
      wrap(angle2),
      Math.min(MAX_SPIN_1, Math.max(-MAX_SPIN_1, spin1)),
      Math.min(MAX_SPIN_2, Math.max(-MAX_SPIN_2, spin2)),
    ];
    const terminated = -Math.cos(this.state[0]) - Math.cos(this.state[1] + this.state[0]) > 1;
    return { observation: this.observe(), reward: terminated ? 0 : -1, terminated };
  }

  draw(context: Context2D, width: number, height: number) {
    const scale = height / 5;
    const [angle1, angle2] = this.state;
    const elbow = [width / 2 + scale * Math.sin(angle1), height / 2 + scale * Math.cos(angle1)];
    context.clearRect(0, 0, width, height);
    context.beginPath();
    context.moveTo(0, height / 2 - scale);
    context.lineTo(width, height / 2 - scale);
    context.moveTo(width / 2, height / 2);
    context.lineTo(elbow[0], elbow[1]);
    context.lineTo(
      elbow[0] + scale * Math.sin(angle1 + angle2),
      elbow[1] + scale * Math.cos(angle1 + angle2),
    );
    context.stroke();
  }

  observe() {
    const [angle1, angle2, spin1, spin2] = this.state;
    return [Math.cos(angle1), Math.sin(angle1), Math.cos(angle2), Math.sin(angle2), spin1, spin2];
  }
}

function wrap(angle: number) {
  let wrapped = angle;
  while (wrapped > Math.PI) wrapped -= 2 * Math.PI;
  while (wrapped < -Math.PI) wrapped += 2 * Math.PI;
  return wrapped;
}

/** How fast the state changes under `torque`; the equations of Sutton and Barto's book. */
function slope([angle1, angle2, spin1, spin2]: number[], torque: number) {
  const cos = Math.cos(angle2);
  const sin = Math.sin(angle2);
  const d1 =
    MASS * CENTER ** 2 + MASS * (LENGTH ** 2 + CENTER ** 2 + 2 * LENGTH * CENTER * cos) + 2 * INERTIA;
  const d2 = MASS * (CENTER ** 2 + LENGTH * CENTER * cos) + INERTIA;
  const phi2 = MASS * CENTER * GRAVITY * Math.cos(angle1 + angle2 - Math.PI / 2);
  const phi1 =
    -MASS * LENGTH * CENTER * spin2 ** 2 * sin -
    2 * MASS * LENGTH * CENTER * spin2 * spin1 * sin +
    (MASS * CENTER + MASS * LENGTH) * GRAVITY * Math.cos(angle1 - Math.PI / 2) +
    phi2;
  const spinUp2 =
    (torque + (d2 / d1) * phi1 - MASS * LENGTH * CENTER * spin1 ** 2 * sin - phi2) /
    (MASS * CENTER ** 2 + INERTIA - d2 ** 2 / d1);
  const spinUp1 = -(d2 * spinUp2 + phi1) / d1;
  return [spin1, spin2, spinUp1, spinUp2];
}

function rungeKutta(state: number[], torque: number, dt: number) {
  const add = (step: number, k: number[]) => state.map((value, i) => value + step * k[i]);
  const k1 = slope(state, torque);
  const k2 = slope(add(dt / 2, k1), torque);
  const k3 = slope(add(dt / 2, k2), torque);
  const k4 = slope(add(dt, k3), torque);
  return state.map((value, i) => value + (dt / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
}

export default defineGame({
  id: "Plain-Acrobot-v1",
  tickSeconds: 0.2,
  maxSeconds: 100,
  observation: box({
    shape: [6],
    low: [-1, -1, -1, -1, -MAX_SPIN_1, -MAX_SPIN_2],
    high: [1, 1, 1, 1, MAX_SPIN_1, MAX_SPIN_2],
  }),
  action: discrete(["left", "none", "right"]),
  keys: { ArrowLeft: "left", ArrowRight: "right" },
  idle: "none",
  create: () => new Acrobot(),
});
