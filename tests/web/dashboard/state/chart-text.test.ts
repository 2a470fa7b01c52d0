/** Places and charts in words. */

import { describe, expect, it } from "vitest";
import {
  formatClock,
  formatClockTicks,
  formatPlace,
  plotText,
} from "../../../../web/dashboard/src/state/chart-text.ts";

/** 2026-03-04 05:06:07 where the test runs. */
const MOMENT = new Date(2026, 2, 4, 5, 6, 7).getTime() / 1000;
const MIDNIGHT = new Date(2026, 2, 4).getTime() / 1000;

describe("places", () => {
  it("have their unit", () => {
    expect(formatPlace(12_345, "steps")).toBe("12.3k steps");
    expect(formatPlace(7, "episodes")).toBe("7 episodes");
    expect(formatPlace(185, "time")).toBe("3:05");
    expect(formatPlace(MOMENT, "clock")).toBe("2026-03-04 05:06:07");
    expect(formatClock(MOMENT)).toBe("2026-03-04 05:06:07");
  });

  it("of a clock have what tells ticks apart", () => {
    expect(formatClockTicks([MOMENT], 10)).toEqual(["05:06:07"]);
    expect(formatClockTicks([MOMENT], 600)).toEqual(["05:06"]);
    expect(formatClockTicks([MIDNIGHT, MOMENT], 600)).toEqual(["03-04", "05:06"]);
    expect(formatClockTicks([MOMENT], 86_400)).toEqual(["03-04"]);
  });
});

describe("plotText", () => {
  const base = { title: "Return", axis: "steps", nothing: "Loading", lines: [] } as const;
  const line = (name: string, values: number[]) => ({
    id: name,
    name,
    color: "#000000",
    x: values.map((_, i) => 1000 * (i + 1)),
    values,
    low: null,
    high: null,
  });

  it("has the newest value and where it is", () => {
    expect(plotText(base)).toBe("Return: Loading");
    expect(plotText({ ...base, lines: [line("training", [1, 20])] })).toBe("Return: 20 after 2,000 steps");
    expect(plotText({ ...base, axis: "time", lines: [line("training", [1])] })).toBe("Return: 1 at 16:40");
  });

  it("names several lines, levels and the newest lesson", () => {
    const text = plotText({
      ...base,
      lines: [line("training", [1]), line("evaluation", [2])],
      levels: [{ name: "random play", value: 3 }],
      marks: [
        { kind: "lesson", text: "small" },
        { kind: "lesson", text: "large" },
        { kind: "pause", text: "" },
      ],
    });
    expect(text).toBe("Return: training 1, evaluation 2 after 1,000 steps; lesson large; random play 3");
  });
});
