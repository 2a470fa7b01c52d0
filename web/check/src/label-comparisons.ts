/** Finds where a module compares something with the label of an action, which is never true: actions are numbers. */

export interface LabelComparison {
  label: string;
  /** Both from 1. */
  line: number;
  column: number;
}

const MOST = 20;

/** Comparisons with one of `labels` as a string: `=== "left"`, `"left" ==`, `case "left":`. */
export function labelComparisons(source: string, labels: readonly string[]): LabelComparison[] {
  const names = labels.map((label) => label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  if (names === "") return [];
  const string = `(["'\`])(${names})`;
  const after = new RegExp(`(?:[=!]==?|\\bcase)\\s*${string}\\1`, "g");
  const before = new RegExp(`${string}\\1\\s*[=!]==?`, "g");
  const found: LabelComparison[] = [];
  source.split("\n").forEach((text, row) => {
    for (const pattern of [after, before]) {
      for (const match of text.matchAll(pattern)) {
        if (found.length < MOST) found.push({ label: match[2], line: row + 1, column: match.index + 1 });
      }
    }
  });
  return found;
}
