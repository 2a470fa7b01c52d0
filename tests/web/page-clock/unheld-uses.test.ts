import { expect, test } from "vitest";
import { UnheldUses } from "../../../web/page-clock/src/unheld-uses.ts";

const LACKS = "which it does not get: where the game needs it, save it beside the page, and name it there";

test("what several scripts of other servers lack is said once", () => {
  const uses = new UnheldUses();
  uses.addAddress("script", "loads", "https://a.com/x.js", LACKS);
  uses.add("shows a video, which runs in real time");
  uses.addAddress("script", "loads", "https://b.com/x.js", LACKS);
  expect(uses.grouped()).toEqual([
    "loads https://a.com/x.js, https://b.com/x.js, which it does not get: where the game needs them, save them beside the page, and name them there",
    "shows a video, which runs in real time",
  ]);
});

test("each is kept once, and what came after a time can be asked for by its kind", () => {
  const uses = new UnheldUses();
  uses.addAddress("file", "asks for", "/a.png", "which is not there");
  uses.add("talks to a server, which is not there");
  uses.add("talks to a server, which is not there");
  const before = uses.size;
  uses.addAddress("file", "asks for", "/a.png", "which is not there");
  uses.addAddress("file", "asks for", "/b.png", "which is not there");
  expect(before).toBe(2);
  expect(uses.of("file")).toEqual([
    "asks for /a.png, which is not there",
    "asks for /b.png, which is not there",
  ]);
  expect(uses.of("file", before)).toEqual(["asks for /b.png, which is not there"]);
  expect(uses.of("other")).toEqual(["talks to a server, which is not there"]);
});
