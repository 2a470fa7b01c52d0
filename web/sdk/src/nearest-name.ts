/** "Did you mean": the known name that looks most like the given one. */

/** How alike two names must be: twice their common letters, in order, over all letters. */
const MIN_SIMILARITY = 0.5;

/** The most alike of `known`, letters compared without case; null when none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let best = MIN_SIMILARITY;
  for (const other of known) {
    const likeness =
      (2 * commonLetters(name.toLowerCase(), other.toLowerCase())) / (name.length + other.length);
    if (likeness > best) {
      best = likeness;
      nearest = other;
    }
  }
  return nearest;
}

/** Length of the longest common subsequence. */
function commonLetters(a: string, b: string): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const letter of a) {
    const next = [0];
    for (let j = 0; j < b.length; j++) {
      next.push(letter === b[j] ? row[j] + 1 : Math.max(row[j + 1], next[j]));
    }
    row = next;
  }
  return row[b.length];
}
