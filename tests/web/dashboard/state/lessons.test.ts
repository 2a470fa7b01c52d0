/** Where lessons began, from their metric. */

import { lessonMarks, lessonNames } from "@attract/dashboard/state/lessons";
import { describe, expect, test } from "vitest";

function series(values: number[]) {
  const steps = values.map((_, i) => 100 * (i + 1));
  return { name: "curriculum/lesson", steps, values, low: values, high: values };
}

describe("lesson marks", () => {
  test("stand where the lesson changed, forward or back, the first where the run began", () => {
    expect(lessonMarks(series([1, 1, 2, 2, 1, 3]), ["small", "medium", "large"])).toEqual([
      { steps: 100, name: "small" },
      { steps: 300, name: "medium" },
      { steps: 500, name: "small" },
      { steps: 600, name: "large" },
    ]);
  });

  test("a point that stands for two lessons counts as the later one", () => {
    expect(lessonMarks(series([1, 1.5, 2]), ["small", "medium"]).map((mark) => mark.steps)).toEqual([
      100, 200,
    ]);
  });

  test("without lessons there are none; a lesson without a name has its number", () => {
    expect(lessonMarks(undefined, [])).toEqual([]);
    expect(lessonMarks(series([2]), ["small"])[0].name).toBe("lesson 2");
  });

  test("names come from the run's settings", () => {
    const settings = { curriculum: { lessons: [{ name: "small" }, { name: "large" }] } };
    expect(lessonNames({ settings })).toEqual(["small", "large"]);
    expect(lessonNames({ settings: {} })).toEqual([]);
  });
});
