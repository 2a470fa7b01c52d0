import { expect, test } from "vitest";
import { type Mark, Marks } from "../../../../web/sdk/src/page/drawn/marks.ts";

test("what is covered is what lies within the box, wherever it lies on the canvas and beyond its edges", () => {
  const marks = new Marks({ width: 300, height: 200 });
  let standing: Mark[] = [];
  let number = 1;
  const upTo = (end: number): number => {
    number = (number * 48271) % 2147483647;
    return number % end;
  };
  for (let step = 0; step < 4_000; step++) {
    const [left, top] = [upTo(380) - 40, upTo(280) - 40];
    const [right, bottom] = [left + upTo(step % 9 === 0 ? 200 : 40), top + upTo(40)];
    if (step % 3 === 0) {
      marks.cover(left, top, right, bottom);
      standing = standing.filter(
        (mark) =>
          mark.left < left - 1 || mark.top < top - 1 || mark.right > right + 1 || mark.bottom > bottom + 1,
      );
    } else {
      const mark = { look: "rect #f00", part: "", size: "", left, top, right, bottom, text: null };
      marks.add(mark);
      if (right >= 0 && bottom >= 0 && left <= 300 && top <= 200) standing.push(mark);
      standing = standing.slice(-400);
    }
    expect(marks.now).toEqual(standing);
  }
  expect(standing.length).toBeGreaterThan(50);
});
