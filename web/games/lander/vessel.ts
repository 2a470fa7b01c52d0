/** The lander's physics: hull, two sprung legs and the ground, as planck bodies. Metres, kilograms, seconds; y up. */

import { type Body, Box, Chain, type Contact, Polygon, RevoluteJoint, Vec2, World } from "planck";

/** The world reaches from -HALF_WIDTH to HALF_WIDTH; the pad's middle is the origin. */
export const HALF_WIDTH = 10;
export const NUM_GROUND_POINTS = 11;
/** Height of the hull's middle over the pad when the lander rests on extended legs. */
export const REST_HEIGHT = 0.83;
const GRAVITY = -10;
const MAIN_THRUST = 90;
const SIDE_THRUST = 12;
/** How far above the hull's middle the side engines push: what turns the lander. */
const SIDE_ENGINE_HEIGHT = 0.47;
const HULL_CORNERS = [
  [-0.47, 0.57],
  [-0.57, 0],
  [-0.57, -0.33],
  [0.57, -0.33],
  [0.57, 0],
  [0.47, 0.57],
];
const HULL_DENSITY = 5;
const LEG_DENSITY = 1;
const LEG_HALF_LENGTH = 0.35;
const LEG_HALF_WIDTH = 0.05;
const HIP_X = 0.4;
const HIP_Y = -0.2;
/** Angle of an extended leg from straight down, and how much further it gives way, in radians. */
const LEG_SPLAY = 0.45;
const LEG_GIVE = 0.5;
const LEG_TORQUE = 25;
const LEG_SPEED = 0.3;
/** Fixtures of one negative group never touch each other. */
const LANDER_GROUP = -1;
const VELOCITY_ITERATIONS = 8;
const POSITION_ITERATIONS = 4;

/** One lander over one ground. Made anew for every episode, so that nothing of an earlier one can linger in the engine. */
export class Vessel {
  readonly hull: Body;
  readonly legs: Body[] = [];
  /** Whether the hull itself has touched the ground. */
  isCrashed = false;
  readonly #world: World;
  /** How many ground fixtures each leg touches. */
  readonly #legContacts = [0, 0];
  // Reused in every tick.
  readonly #force = new Vec2(0, 0);
  readonly #point = new Vec2(0, 0);

  /** `groundHeights` has NUM_GROUND_POINTS entries, evenly spaced over the width; the vessel starts at (x, y). */
  constructor(groundHeights: ArrayLike<number>, x: number, y: number, velocityX: number, velocityY: number) {
    // Without continuous physics planck never reads the clock, and at these speeds nothing tunnels.
    this.#world = new World({ gravity: { x: 0, y: GRAVITY }, continuousPhysics: false, allowSleep: false });
    const spacing = (2 * HALF_WIDTH) / (NUM_GROUND_POINTS - 1);
    const points = Array.from(groundHeights, (height, i) => new Vec2(-HALF_WIDTH + i * spacing, height));
    this.#world.createBody().createFixture({ shape: new Chain(points), friction: 0.6 });
    this.hull = this.#world.createBody({
      type: "dynamic",
      position: { x, y },
      linearVelocity: { x: velocityX, y: velocityY },
    });
    this.hull.createFixture({
      shape: new Polygon(HULL_CORNERS.map(([cornerX, cornerY]) => new Vec2(cornerX, cornerY))),
      density: HULL_DENSITY,
      friction: 0.1,
      filterGroupIndex: LANDER_GROUP,
    });
    for (const side of [-1, 1]) this.#addLeg(side, x, y, velocityX, velocityY);
    this.#world.on("begin-contact", (contact) => this.#count(contact, 1));
    this.#world.on("end-contact", (contact) => this.#count(contact, -1));
  }

  /** Whether leg 0 (left) or 1 (right) stands on the ground. */
  isStanding(leg: number): boolean {
    return this.#legContacts[leg] > 0;
  }

  /** One tick with the main engine on or off and the side engines pushing the lander left (-1), right (1) or not (0). */
  step(deltaTime: number, isMainOn: boolean, push: number): void {
    const angle = this.hull.getAngle();
    const sin = Math.sin(angle);
    const cos = Math.cos(angle);
    if (isMainOn) this.#push(-sin * MAIN_THRUST, cos * MAIN_THRUST, 0, 0);
    if (push !== 0) {
      const thrust = push * SIDE_THRUST;
      this.#push(cos * thrust, sin * thrust, -sin * SIDE_ENGINE_HEIGHT, cos * SIDE_ENGINE_HEIGHT);
    }
    this.#world.step(deltaTime, VELOCITY_ITERATIONS, POSITION_ITERATIONS);
  }

  #push(forceX: number, forceY: number, offsetX: number, offsetY: number): void {
    const center = this.hull.getPosition();
    this.#force.set(forceX, forceY);
    this.#point.set(center.x + offsetX, center.y + offsetY);
    this.hull.applyForce(this.#force, this.#point, true);
  }

  #addLeg(side: number, x: number, y: number, velocityX: number, velocityY: number): void {
    const hipX = x + side * HIP_X;
    const hipY = y + HIP_Y;
    const angle = side * LEG_SPLAY;
    const leg = this.#world.createBody({
      type: "dynamic",
      position: { x: hipX + Math.sin(angle) * LEG_HALF_LENGTH, y: hipY - Math.cos(angle) * LEG_HALF_LENGTH },
      angle,
      linearVelocity: { x: velocityX, y: velocityY },
    });
    leg.createFixture({
      shape: new Box(LEG_HALF_WIDTH, LEG_HALF_LENGTH),
      density: LEG_DENSITY,
      friction: 0.6,
      filterGroupIndex: LANDER_GROUP,
    });
    const joint = new RevoluteJoint(
      {
        enableLimit: true,
        lowerAngle: side < 0 ? -LEG_GIVE : 0,
        upperAngle: side < 0 ? 0 : LEG_GIVE,
        enableMotor: true,
        // Towards the extended leg: that is what springs it back.
        motorSpeed: -side * LEG_SPEED,
        maxMotorTorque: LEG_TORQUE,
      },
      this.hull,
      leg,
      new Vec2(hipX, hipY),
    );
    this.#world.createJoint(joint);
    this.legs.push(leg);
  }

  #count(contact: Contact, change: number): void {
    const bodyA = contact.getFixtureA().getBody();
    const bodyB = contact.getFixtureB().getBody();
    if (bodyA === this.hull || bodyB === this.hull) this.isCrashed = true;
    for (let leg = 0; leg < 2; leg++) {
      if (bodyA === this.legs[leg] || bodyB === this.legs[leg]) this.#legContacts[leg] += change;
    }
  }
}
