/** Whether deflating pays: decided by what was measured. */

import { DeflateChoice } from "@attract/worker/rollout/deflate-choice";
import { describe, expect, test } from "vitest";

const MIB = 1024 * 1024;

interface Measured {
  /** For a segment of 4 MiB. */
  playMs: number;
  /** That the connection takes for it. */
  sendMs: number;
  /** That all of it would take to be deflated. */
  deflateMs: number;
  /** What is left of its pictures, which are all but a sixteenth. */
  left: number;
}

function decided({ playMs, sendMs, deflateMs, left }: Measured): [DeflateChoice, string[]] {
  const said: string[] = [];
  const choice = new DeflateChoice((text) => said.push(text));
  expect(choice.wantsTrial).toBe(true);
  const pictures = (15 / 16) * MIB;
  choice.tried(deflateMs / 4, MIB, pictures, left * pictures);
  expect(choice.wantsTrial).toBe(false);
  let now = 5000;
  for (let segment = 0; segment < 3 && choice.verdict === null; segment++) {
    choice.waits(4 * MIB, now);
    choice.played(playMs, 4 * MIB);
    for (let block = 1; block <= 4; block++) {
      now += sendMs / 4;
      choice.waits((4 - block) * MIB, now);
    }
    // Time in which nothing is under way says nothing of the connection.
    now += 10_000;
  }
  return [choice, said];
}

describe("whether it pays", () => {
  test("not where the connection takes what is sent while the next segment is played", () => {
    // On the trainer's own machine: 800 ms of play, 20 of sending.
    const [choice, said] = decided({ playMs: 800, sendMs: 20, deflateMs: 60, left: 0.05 });
    expect(choice.isOn).toBe(false);
    expect(choice.wantsTrial).toBe(false);
    expect(said).toEqual([
      "pictures are not deflated: a segment of 4096 KiB is played in 800 ms and sent in 20, deflated in 60 ms it has 11 %",
    ]);
  });

  test("where the connection is what a segment waits for", () => {
    // 3,200 ms of sending, of which 11 % stay: 352. So 860 ms a segment in place of 3,200.
    const [choice, said] = decided({ playMs: 800, sendMs: 3200, deflateMs: 60, left: 0.05 });
    expect(choice.isOn).toBe(true);
    expect(said).toEqual([
      "pictures are deflated: a segment of 4096 KiB is played in 800 ms and sent in 3200, deflated in 60 ms it has 11 %",
    ]);
  });

  test("not where it takes longer than it saves", () => {
    expect(decided({ playMs: 800, sendMs: 1200, deflateMs: 500, left: 0.05 })[0].isOn).toBe(false);
    expect(decided({ playMs: 800, sendMs: 1200, deflateMs: 200, left: 0.05 })[0].isOn).toBe(true);
  });

  test("not where pictures hardly get smaller", () => {
    // 1,200 ms become 1,144: less than what is measured may be wrong by.
    expect(decided({ playMs: 100, sendMs: 1200, deflateMs: 60, left: 0.95 })[0].isOn).toBe(false);
  });
});

test("nothing is decided before a block was tried, and before the connection took one segment", () => {
  const said: string[] = [];
  const choice = new DeflateChoice((text) => said.push(text));
  for (let i = 0; i < 4; i++) {
    choice.waits(MIB, i);
    choice.waits(0, i + 0.5);
    choice.played(1, MIB);
  }
  expect(choice.verdict).toBeNull();
  choice.tried(1, MIB, MIB, MIB / 10);
  const slow = new DeflateChoice((text) => said.push(text));
  slow.tried(1, MIB, MIB, MIB / 10);
  slow.waits(2 * MIB, 0);
  for (let i = 0; i < 4; i++) slow.played(1, MIB);
  expect(slow.verdict).toBeNull();
  slow.waits(MIB / 2, 9000);
  slow.played(1, MIB);
  expect(slow.verdict?.deflates).toBe(true);
  expect(said).toHaveLength(1);
});
