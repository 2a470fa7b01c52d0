/** What is known of a pointer that the policy holds. */

/** Where it is, in CSS pixels of the page's window. */
export type Point = readonly [x: number, y: number];

/** The mouse, or a finger that touches. */
export class Pointer {
  readonly id: number;
  point: Point;
  /** Where it went down. */
  from: Point;
  /** As `MouseEvent.buttons`. */
  buttons = 0;
  /** Under it when it went down. */
  pressed: Element | null = null;
  /** What it is over, and has been told so. */
  over: Element | null = null;
  /** What has asked for all of its events, and what gets them. */
  wanted: Element | null = null;
  captured: Element | null = null;

  constructor(id: number, point: Point = [0, 0]) {
    this.id = id;
    this.point = point;
    this.from = point;
  }
}
