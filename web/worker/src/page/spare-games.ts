/** What games are that take time to be made: those who play them ask first. */

export interface SpareGames {
  /** Null when a copy can be made or begin at once; else it can when the promise resolves. Rejects when none can be had. */
  spare(): Promise<void> | null;
  /** How many copies may be there at once. */
  readonly maxCopies: number;
}
