import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

test("T5: contexts of every name are silent ones: states, decoding and ends without real time", async () => {
  const { run, clock } = heldPage();
  run(`said = [];
    contexts = [AudioContext, webkitAudioContext, OfflineAudioContext].map((Context) => new Context(1, 100, 44100));
    const [context] = contexts;
    context.decodeAudioData(new ArrayBuffer(8), (buffer) => said.push("decoded " + buffer.duration));
    const play = (loop, stop) => {
      const source = context.createBufferSource();
      Object.assign(source, { buffer: context.createBuffer(2, 44100, 44100), loop });
      source.addEventListener("ended", () => said.push((loop ? "loop " : "once ") + performance.now()));
      source.start();
      if (stop !== undefined) source.stop(stop);
    };
    play(true); play(true, 0.03); play(false);`);
  await turns();
  expect(run("said")).toEqual([]);
  expect(run("contexts.map((one) => [one.state, one.currentTime, one.sampleRate])")).toEqual(
    new Array(3).fill(["running", 0, 44100]),
  );
  for (let i = 0; i < 61; i++) clock.tick();
  expect(run("said")).toEqual(["decoded 1", "loop 30", "once 1000"]);
  run("contexts[0].suspend(); contexts[1].close();");
  expect(run("contexts.map(({ state }) => state)")).toEqual(["suspended", "closed", "running"]);
  run("contexts[0].resume()");
  expect(run("contexts[0].state")).toBe("running");
});

test("elements that play are ready and told of in ticks, however they were given their source", async () => {
  const { run, clock } = heldPage();
  // A page's own, which is no event to the browser.
  run("window.Event = class {}");
  run(`said = [];
    const listen = (name, element) => {
      for (const type of ["canplaythrough", "play", "playing", "pause"])
        element.addEventListener(type, () => said.push(name + " " + type));
      return element;
    };
    made = listen("made", document.createElement("audio")); made.src = "a.mp3";
    attribute = listen("attribute", document.createElement("audio")); attribute.setAttribute("src", "a.mp3");
    constructed = listen("constructed", new Audio("a.mp3"));
    facts = [made.paused, made.duration, made.readyState, made.src];`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  expect(run("said.splice(0)")).toEqual([
    "made canplaythrough",
    "attribute canplaythrough",
    "constructed canplaythrough",
  ]);
  expect(run("facts")).toEqual([true, 1, 4, "a.mp3"]);
  run("made.pause(); made.play(); first = made.paused; made.pause(); second = made.paused");
  expect(run("[first, second]")).toEqual([false, true]);
  clock.tick();
  expect(run("said")).toEqual(["made play", "made playing", "made pause"]);
});
