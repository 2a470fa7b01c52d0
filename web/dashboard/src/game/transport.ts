/** The clock of a replay: where it is and how fast it goes. Pictures follow it. */

/** Real time that one frame may stand for: after a pause of the browser it continues where it was. */
const LONGEST_FRAME_MS = 100;

/** Speeds to choose from. */
export const SPEEDS: readonly [speed: number, text: string][] = [
  [0.25, "¼×"],
  [0.5, "½×"],
  [1, "1×"],
  [2, "2×"],
  [4, "4×"],
  [8, "8×"],
  [16, "16×"],
];

/** Owned by the page that shows the episodes. */
export class Transport {
  isPlaying = false;
  /** Seconds of game time per second. */
  speed = 1;
  /** In game time. */
  readonly length: number;
  readonly stepSeconds: number;
  #seconds: number;

  /** @param at where it begins; below 0: counted from the end. */
  constructor(length: number, stepSeconds: number, at = 0) {
    this.length = length;
    this.stepSeconds = stepSeconds;
    this.#seconds = this.#within(at < 0 ? length + at : at);
  }

  get seconds(): number {
    return this.#seconds;
  }

  get isAtEnd(): boolean {
    return this.#seconds >= this.length;
  }

  /** Steps played. */
  get step(): number {
    return Math.floor(this.#seconds / this.stepSeconds + 1e-6);
  }

  /** Goes on for a frame, and stops at the end. */
  frame(elapsedMs: number): void {
    if (!this.isPlaying) return;
    this.#seconds = this.#within(this.#seconds + (Math.min(elapsedMs, LONGEST_FRAME_MS) / 1000) * this.speed);
    if (this.isAtEnd) this.isPlaying = false;
  }

  /** From the end it begins again. */
  toggle(): void {
    if (!this.isPlaying && this.isAtEnd) this.#seconds = 0;
    this.isPlaying = !this.isPlaying;
  }

  seek(seconds: number): void {
    this.#seconds = this.#within(seconds);
    if (this.isAtEnd) this.isPlaying = false;
  }

  /** To the beginning of the step that is so many steps away, and stays there. */
  stepBy(steps: number): void {
    this.isPlaying = false;
    // Amid a step, one back is its own beginning.
    const isAmid = this.#seconds - this.step * this.stepSeconds > 1e-6 * this.stepSeconds;
    this.seek((this.step + steps + (isAmid && steps < 0 ? 1 : 0)) * this.stepSeconds);
  }

  #within(seconds: number): number {
    return Math.min(Math.max(seconds, 0), this.length);
  }
}

/** What a key does, wherever on the page it is pressed. */
const KEYS: Readonly<Record<string, (transport: Transport) => void>> = {
  " ": (transport) => transport.toggle(),
  ArrowLeft: (transport) => transport.seek(transport.seconds - 1),
  ArrowRight: (transport) => transport.seek(transport.seconds + 1),
  ",": (transport) => transport.stepBy(-1),
  ".": (transport) => transport.stepBy(1),
  Home: (transport) => transport.seek(0),
  End: (transport) => transport.seek(transport.length),
};

/** What a press of a key does to the clock; null: nothing, or it is for the element that has the focus. */
export function steering(event: KeyboardEvent): ((transport: Transport) => void) | null {
  const target = event.target as Element;
  const isOthers = target.closest("dialog, select, textarea, input:not([type=range])") !== null;
  const isPress = event.key === " " && target.closest("button, a") !== null;
  if (isOthers || isPress || event.ctrlKey || event.metaKey || event.altKey) return null;
  return Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
}
