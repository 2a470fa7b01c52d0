import { expect, test } from "vitest";
import { Announcer } from "../../../../web/dashboard/src/state/announcer.ts";

test("each text is said once to who listens, and again only after another", () => {
  const announcer = new Announcer();
  const heard: string[] = [];
  const leave = announcer.subscribe(() => heard.push(announcer.text()));
  for (const text of ["Training", "Training", "Finished", "Training"]) announcer.say(text);
  expect(heard).toEqual(["Training", "Finished", "Training"]);
  leave();
  announcer.say("Stopped");
  expect(heard).toHaveLength(3);
  expect(announcer.text()).toBe("Stopped");
});
