/** The lessons of a curriculum on the charts: where each began. */

import type { RunView } from "@attract/schema";
import type { Series } from "./series.ts";

/** The metric that says which lesson is played, from 1. */
export const LESSON_METRIC = "curriculum/lesson";

export interface LessonMark {
  /** Agent steps at which it began. */
  steps: number;
  name: string;
}

/** Where the lesson changed; the first mark is the lesson that the run began in. `names` are in the lessons' order. */
export function lessonMarks(
  series: Pick<Series, "steps" | "values"> | undefined,
  names: readonly string[],
): LessonMark[] {
  const marks: LessonMark[] = [];
  let before = 0;
  for (let i = 0; i < (series?.values.length ?? 0); i++) {
    // Thinned points are means: half-way between two lessons is the later one.
    const number = Math.round(series!.values[i]);
    if (number === before) continue;
    const name = names[number - 1] ?? `lesson ${number}`;
    marks.push({ steps: series!.steps[i], name });
    before = number;
  }
  return marks;
}

/** The names of a run's lessons, in order; empty without a curriculum. */
export function lessonNames(run: Pick<RunView, "settings">): string[] {
  const curriculum = run.settings.curriculum as { lessons?: { name: string }[] } | undefined;
  return (curriculum?.lessons ?? []).map((lesson) => lesson.name);
}
