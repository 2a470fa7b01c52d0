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

/** Elements ask for all events of `pointers`, which are those that there are now. */
export function installCapture(window: Window & typeof globalThis, pointers: () => readonly Pointer[]): void {
  const pointerOf = (id: number): Pointer => {
    const found = pointers().find((one) => one.id === id);
    if (found === undefined)
      throw new window.DOMException("No active pointer with the given id is found.", "NotFoundError");
    return found;
  };
  Object.assign(window.Element.prototype, {
    setPointerCapture(this: Element, id: number): void {
      const pointer = pointerOf(id);
      if (!this.isConnected)
        throw new window.DOMException("The element is not connected.", "InvalidStateError");
      if (pointer.buttons !== 0) pointer.wanted = this;
    },
    releasePointerCapture(this: Element, id: number): void {
      const pointer = pointerOf(id);
      if (pointer.wanted === this) pointer.wanted = null;
    },
    hasPointerCapture(this: Element, id: number): boolean {
      return pointers().some((one) => one.id === id && one.wanted === this);
    },
  });
}
