/** One cursor for all charts of a page: a place on the x-axis, and the chart that it was set from. */

export interface CursorPlace {
  readonly x: number;
  /** The chart in which the pointer or the keys are; the others follow. */
  readonly chart: string;
  readonly by: "pointer" | "keys";
}

type Listener = (place: CursorPlace | null) => void;

/** Told to all charts that are drawn; owned by the page. */
export class ChartCursor {
  private place: CursorPlace | null = null;
  private readonly listeners = new Set<Listener>();

  get current(): CursorPlace | null {
    return this.place;
  }

  set(place: CursorPlace | null): void {
    if (place === null && this.place === null) return;
    this.place = place;
    for (const listener of this.listeners) listener(place);
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
