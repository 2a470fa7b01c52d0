/** Games that take time to create: their player asks for a preloaded copy first. */

export interface PreloadedGames {
  /** Null when a copy can be made or begin at once; else it can when the promise resolves. Rejects when none can be had. */
  preload(): Promise<void> | null;
  /** How many copies may be there at once. */
  readonly maxCopies: number;
}
