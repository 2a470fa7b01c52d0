import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

test("T5: what is in view is told once, in a tick, and not of what is no longer observed", async () => {
  const { run, clock } = heldPage();
  run(`said = []; document.body.innerHTML = "<i></i><b></b><p></p>";
    const [i, b, p] = document.querySelectorAll("i, b, p");
    const observer = new IntersectionObserver((entries, self) =>
      said.push(...entries.map(({ target, intersectionRatio }) => target.tagName + intersectionRatio), self === observer));
    observer.observe(i); observer.observe(i); observer.observe(b); observer.unobserve(b);
    const other = new IntersectionObserver(() => said.push("never"));
    other.observe(p); other.disconnect();
    records = observer.takeRecords().length;`);
  await turns(60);
  expect(run("[said, records]")).toEqual([[], 0]);
  clock.tick();
  clock.tick();
  expect(run("said")).toEqual(["I1", true]);
});

test("a size is told of no more once its observer has left off", () => {
  const { run, clock } = heldPage();
  run(`said = 0; div = document.createElement("div"); document.body.append(div);
    observer = new ResizeObserver(() => said++); observer.observe(div);`);
  clock.tick();
  run(`observer.disconnect(); div.style.height = "7px"`);
  clock.tick();
  expect(run("said")).toBe(1);
});

test("what a tick changes in the document is told when the tick is over, and needs no further one", async () => {
  const { run, clock } = heldPage();
  run(`said = []; new MutationObserver((records) => said.push(records.length)).observe(document.body, { childList: true });
    setTimeout(() => document.body.append("one", "two"), 5)`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  await Promise.resolve();
  expect(run("said")).toEqual([1]);
});

test("T5: an observer of what is in view looks: within its root, by its margin, where the page has scrolled to", () => {
  const { run, clock } = heldPage();
  run(`said = []; document.body.innerHTML =
      "<div id=root style='overflow: scroll; height: 100px; width: 100px'><p style='height: 150px; margin: 0'></p><i style='display: block; height: 50px'></i></div>";
    root = document.getElementById("root");
    const observer = new IntersectionObserver(([entry]) => said.push(entry.isIntersecting + " " + entry.intersectionRatio.toFixed(1)),
      { root, rootMargin: "0px 0px 10px", threshold: [0, 0.5] });
    observer.observe(document.querySelector("i"));`);
  clock.tick();
  // With the margin 110 pixels are seen: to 160, and then to 210.
  run("root.scrollTop = 50");
  clock.tick();
  run("root.scrollTop = 100");
  clock.tick();
  run("root.remove()");
  clock.tick();
  expect(run("said")).toEqual(["false 0.0", "true 0.2", "true 1.0", "false 0.0"]);
  expect(() => run("new IntersectionObserver(() => 0, { rootMargin: '1em' })")).toThrow(/rootMargin/);
});
