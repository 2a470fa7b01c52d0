/** The lander's physics: hull, two sprung legs and the ground, as planck bodies. Metres, kilograms, seconds; y up. */

import { type Body, Box, type Contact, Edge, Polygon, RevoluteJoint, Vec2, World } from "planck";

// The numbers are those of Gymnasium's LunarLander-v3, which counts in pixels, 30 a metre, and in ticks of 1/50 s.
const PIXEL = 1 / 30;
/** The world reaches from -HALF_WIDTH to HALF_WIDTH; the pad's middle is the origin. */
export const HALF_WIDTH = 10;
/** Height of the visible world. */
export const HEIGHT = 400 * PIXEL;
/** The pad's height over the lowest ground. */
export const PAD_HEIGHT = HEIGHT / 4;
export const NUM_GROUND_POINTS = 11;
/** Height of the hull's middle over the pad with both legs down, as observations count it. */
export const REST_HEIGHT = 18 * PIXEL;
const GRAVITY = -10;
const GROUND_FRICTION = 0.1;
const HULL_CORNERS = [
  [-14, 17],
  [-17, 0],
  [-17, -10],
  [17, -10],
  [17, 0],
  [14, 17],
];
const HULL_DENSITY = 5;
const HULL_FRICTION = 0.1;
const LEG_DENSITY = 1;
const LEG_FRICTION = 0.2;
export const LEG_HALF_WIDTH = 2 * PIXEL;
export const LEG_HALF_LENGTH = 8 * PIXEL;
/** From a leg's own middle to the hull's, sideways and up. */
const LEG_AWAY = 20 * PIXEL;
const LEG_UP = 18 * PIXEL;
const LEG_START_ANGLE = 0.05;
/** Angle of an extended leg, and how far it gives way, in radians. */
const LEG_SPLAY = 0.9;
const LEG_GIVE = 0.5;
const LEG_TORQUE = 40;
const LEG_SPEED = 0.3;
const MAIN_POWER = 13;
const SIDE_POWER = 0.6;
/** How far below the hull's middle the main engine pushes, and how far aside the side engines do. */
const MAIN_OFFSET = 4 * PIXEL;
const SIDE_OFFSET = 12 * PIXEL;
/** How far above the hull's middle the side engines push: 14 along, but 17 across, as LunarLander has it. */
const SIDE_HEIGHT_X = 17 * PIXEL;
const SIDE_HEIGHT_Y = 14 * PIXEL;
const GROUND_BITS = 0x0001;
const HULL_BITS = 0x0010;
const LEG_BITS = 0x0020;
const VELOCITY_ITERATIONS = 60;
const POSITION_ITERATIONS = 20;

/** One lander over one ground. Created for every episode, so that the physics engine keeps no state of an earlier one. */
export class Vessel {
  readonly hull: Body;
  readonly legs: Body[] = [];
  /** Whether the hull itself has touched the ground. */
  isCrashed = false;
  readonly #world: World;
  readonly #isStanding = [false, false];
  // Reused in every tick.
  readonly #impulse = new Vec2(0, 0);
  readonly #point = new Vec2(0, 0);

  /**
   * `groundHeights` has NUM_GROUND_POINTS entries, evenly spaced over the width; the vessel starts at (0, y), and the
   * force (forceX, forceY), in newtons, pushes it during its first tick.
   */
  constructor(groundHeights: ArrayLike<number>, y: number, forceX: number, forceY: number) {
    // Without continuous physics planck never reads the clock, and at these speeds nothing tunnels.
    this.#world = new World({ gravity: { x: 0, y: GRAVITY }, continuousPhysics: false });
    this.#addGround(groundHeights);
    this.hull = this.#world.createBody({ type: "dynamic", position: { x: 0, y } });
    this.hull.createFixture({
      shape: new Polygon(HULL_CORNERS.map(([x, y]) => new Vec2(x * PIXEL, y * PIXEL))),
      density: HULL_DENSITY,
      friction: HULL_FRICTION,
      filterCategoryBits: HULL_BITS,
      filterMaskBits: GROUND_BITS,
    });
    this.hull.applyForceToCenter(new Vec2(forceX, forceY), true);
    for (const side of [-1, 1]) this.#addLeg(side, y);
    this.#world.on("begin-contact", (contact) => this.#touch(contact, true));
    this.#world.on("end-contact", (contact) => this.#touch(contact, false));
  }

  /** Whether leg 0 (left) or 1 (right) stands on the ground. */
  isStanding(leg: number): boolean {
    return this.#isStanding[leg];
  }

  /** Whether nothing has moved for half a second. */
  get isAtRest(): boolean {
    return !this.hull.isAwake();
  }

  /**
   * One tick with the main engine on or off and the side engines pushing the lander left (-1), right (1) or not (0).
   * Engines do not burn evenly: `along` and `across` are uniform in [-1, 1).
   */
  step(deltaTime: number, isMainOn: boolean, push: number, along: number, across: number): void {
    const angle = this.hull.getAngle();
    const sin = Math.sin(angle);
    const cos = Math.cos(angle);
    if (isMainOn) {
      const down = MAIN_OFFSET + 2 * PIXEL * along;
      this.#push(MAIN_POWER, sin * down - cos * PIXEL * across, -cos * down - sin * PIXEL * across, 0, 0);
    }
    if (push !== 0) {
      const aside = 3 * PIXEL * across + push * SIDE_OFFSET;
      this.#push(
        SIDE_POWER,
        sin * PIXEL * along - cos * aside,
        -cos * PIXEL * along - sin * aside,
        -sin * SIDE_HEIGHT_X,
        cos * SIDE_HEIGHT_Y,
      );
    }
    this.#world.step(deltaTime, VELOCITY_ITERATIONS, POSITION_ITERATIONS);
  }

  /** Exhaust leaves by (exhaustX, exhaustY) from the hull's middle and the offset, and pushes the other way. */
  #push(power: number, exhaustX: number, exhaustY: number, offsetX: number, offsetY: number): void {
    const center = this.hull.getPosition();
    this.#impulse.set(-exhaustX * power, -exhaustY * power);
    this.#point.set(center.x + exhaustX + offsetX, center.y + exhaustY + offsetY);
    this.hull.applyLinearImpulse(this.#impulse, this.#point, true);
  }

  #addGround(heights: ArrayLike<number>): void {
    const ground = this.#world.createBody();
    const spacing = (2 * HALF_WIDTH) / (NUM_GROUND_POINTS - 1);
    ground.createFixture({
      shape: new Edge(new Vec2(-HALF_WIDTH, -PAD_HEIGHT), new Vec2(HALF_WIDTH, -PAD_HEIGHT)),
      friction: 0.2,
    });
    for (let i = 0; i + 1 < NUM_GROUND_POINTS; i++) {
      const left = new Vec2(-HALF_WIDTH + i * spacing, heights[i]);
      const right = new Vec2(-HALF_WIDTH + (i + 1) * spacing, heights[i + 1]);
      ground.createFixture({ shape: new Edge(left, right), friction: GROUND_FRICTION });
    }
  }

  #addLeg(side: number, y: number): void {
    const leg = this.#world.createBody({
      type: "dynamic",
      position: { x: -side * LEG_AWAY, y },
      angle: side * LEG_START_ANGLE,
    });
    leg.createFixture({
      shape: new Box(LEG_HALF_WIDTH, LEG_HALF_LENGTH),
      density: LEG_DENSITY,
      friction: LEG_FRICTION,
      filterCategoryBits: LEG_BITS,
      filterMaskBits: GROUND_BITS,
    });
    this.#world.createJoint(
      new RevoluteJoint({
        bodyA: this.hull,
        bodyB: leg,
        localAnchorA: new Vec2(0, 0),
        localAnchorB: new Vec2(side * LEG_AWAY, LEG_UP),
        referenceAngle: 0,
        enableLimit: true,
        lowerAngle: side < 0 ? LEG_SPLAY - LEG_GIVE : -LEG_SPLAY,
        upperAngle: side < 0 ? LEG_SPLAY : LEG_GIVE - LEG_SPLAY,
        enableMotor: true,
        // Towards the hull: too slow to throw the lander up again.
        motorSpeed: side * LEG_SPEED,
        maxMotorTorque: LEG_TORQUE,
      }),
    );
    this.legs.push(leg);
  }

  #touch(contact: Contact, isTouching: boolean): void {
    const bodyA = contact.getFixtureA().getBody();
    const bodyB = contact.getFixtureB().getBody();
    if (isTouching && (bodyA === this.hull || bodyB === this.hull)) this.isCrashed = true;
    for (let leg = 0; leg < 2; leg++) {
      // Leaving one stretch of ground counts as leaving it, even while another is touched, as in LunarLander.
      if (bodyA === this.legs[leg] || bodyB === this.legs[leg]) this.#isStanding[leg] = isTouching;
    }
  }
}
