import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

/** A page with an element that goes 1,000 px in a second, and what is told of it. */
function moving(
  style = "",
  events = "animationstart animationiteration animationend animationcancel transitionend",
) {
  const page = heldPage();
  page.run(`document.head.innerHTML = "<style>@keyframes go { from { left: 0 } to { left: 1000px } } .go { animation: go 1s linear }</style>";
    document.body.innerHTML = '<div style="position: absolute; left: 0; ${style}"></div>';
    div = document.querySelector("div"); said = [];
    for (const name of "${events}".split(" ")) div.addEventListener(name, () => said.push(name + " " + Math.round(performance.now())));
    left = () => Math.round(parseFloat(getComputedStyle(div).left));`);
  return {
    ...page,
    ticks(count: number): void {
      for (let i = 0; i < count; i++) {
        page.clock.collectAnimations();
        page.clock.tick();
      }
    },
  };
}
const GO = `[{ left: "0" }, { left: "1000px" }]`;

test("an animation of a script finishes in the tick in which it ends, by event and promise", async () => {
  const { run, ticks } = moving();
  run(`one = div.animate(${GO}, 100); one.onfinish = ({ target, currentTime }) => said.push(["finish", target === one, currentTime, performance.now()].join());
    one.finished.then((same) => said.push("promise " + (same === one)));`);
  ticks(3);
  await turns(150);
  expect(run("[left(), one.playState, one.currentTime, said.join()]")).toEqual([500, "running", 50, ""]);
  ticks(3);
  await turns(0);
  expect(run("[left(), one.playState, said.join(' ')]")).toEqual([
    0,
    "finished",
    "finish,true,100,100 promise true",
  ]);
});

test("one that is cancelled, by a script or by its style, stays so", async () => {
  const { run, ticks } = moving();
  run(`div.className = "go"`);
  ticks(18);
  expect(run("left()")).toBe(300);
  run(
    `div.className = ""; one = div.animate(${GO}, 1000); one.finished.catch(({ name }) => said.push(name)); one.oncancel = () => said.push("cancel")`,
  );
  ticks(18);
  run("one.cancel()");
  ticks(60);
  await turns(0);
  expect(run("[left(), one.playState, said.join()]")).toEqual([
    0,
    "idle",
    "animationstart 17,animationcancel 317,cancel,AbortError",
  ]);
});

test("what the page orders of an animation is done: pause, seek, rate, direction, by style too", () => {
  const { run, ticks } = moving();
  run(`one = div.animate(${GO}, 1000)`);
  ticks(18);
  run("one.pause()");
  ticks(18);
  expect(run("[left(), one.playState]")).toEqual([300, "paused"]);
  run("one.currentTime = 800; one.playbackRate = 0.5; one.play()");
  ticks(6);
  expect(run("[left(), one.currentTime]")).toEqual([850, 850]);
  run("one.reverse()");
  ticks(12);
  expect(run("left()")).toBe(750);
  run(`one.cancel(); div.className = "go"`);
  ticks(18);
  run(`div.style.animationPlayState = "paused"`);
  ticks(18);
  expect(run("left()")).toBe(300);
  run(`div.style.animationPlayState = ""`);
  ticks(6);
  expect(run("left()")).toBe(400);
});

test("each phase of a CSS animation is told once, and a transition with a new goal ends once", () => {
  const { run, ticks } = moving();
  run(`div.style.animation = "go 100ms linear 50ms 2"`);
  ticks(20);
  expect(run("said.join(' ')")).toBe("animationstart 50 animationiteration 150 animationend 250");
  run(
    `said = []; div.style.animation = ""; left(); div.style.transition = "left 200ms linear"; div.style.left = "500px"; left()`,
  );
  ticks(6);
  run(`div.style.left = "100px"; left()`);
  ticks(24);
  expect(run("[said.length, left()]")).toEqual([1, 100]);
});
