import { expect, test } from "vitest";
import { servedPage, turns } from "./held-page.ts";

/** What a page of its own turns says, tick by tick: as trainers do, no tick begins while something is under way. */
async function said(code: string, ticks = 6): Promise<string[]> {
  const { run, clock } = await servedPage();
  run(`said = []; at = (name) => said.push(name + " " + performance.now()); ${code}`);
  for (let i = 0; i < ticks; i++) {
    if (i > 0) clock.tick();
    while (clock.numLoading > 0) await turns(0);
    await turns(0);
  }
  return run("said") as string[];
}

const BLOB = `new Blob(["ab"])`;

test.each([
  [
    "a dialog closes",
    `d = document.body.appendChild(document.createElement("dialog")); d.onclose = () => at("close"); d.showModal(); setTimeout(() => d.close())`,
    "close",
  ],
  ["a file is read", `r = new FileReader(); r.onload = () => at(r.result); r.readAsText(${BLOB})`, "ab"],
  ["a blob", `${BLOB}.text().then(at)`, "ab"],
  [
    "a digest",
    `crypto.subtle ? crypto.subtle.digest("SHA-1", new Uint8Array(1)).then(() => at("digest")) : at("digest")`,
    "digest",
  ],
  ["a picture of a canvas", `document.createElement("canvas").toBlob((blob) => at(blob.type))`, "image/png"],
  ["a new hash", `onhashchange = () => at("hash"); setTimeout(() => { location.hash = "#b"; })`, "hash"],
  [
    "going back",
    `onpopstate = () => at("back"); history.pushState(1, ""); setTimeout(() => history.back())`,
    "back",
  ],
  [
    "a transition of the view",
    `document.startViewTransition(() => at("change")).finished.then(() => at("done"))`,
    "change,done",
  ],
  [
    "smooth scrolling",
    `document.body.innerHTML = "<p style='height:9000px'>"; addEventListener("scrollend", () => at("end")); scrollTo({ top: 99, behavior: "smooth" })`,
    "end",
  ],
])("%s in the same tick each time", async (_, code, expected) => {
  const first = await said(code);
  expect(first.map((text) => text.split(" ")[0]).join()).toBe(expected);
  expect(await said(code)).toEqual(first);
});

test("a database answers in the same tick each time, and its transaction is over in it", async () => {
  const code = (
    name: string,
  ): string => `open = indexedDB.open("${name}", 1); open.onupgradeneeded = () => open.result.createObjectStore("games");
    open.onsuccess = () => { at("open"); t = open.result.transaction("games", "readwrite"); t.oncomplete = () => at("complete");
      put = t.objectStore("games").put(7, "score"); put.onsuccess = () => { get = t.objectStore("games").get("score"); get.onsuccess = () => at(get.result); }; };`;
  const first = await said(code("one"));
  expect(first.map((text) => text.split(" ")[0])).toEqual(["open", "7", "complete"]);
  expect(await said(code("two"))).toEqual(first);
});

test.each([
  [
    "dialog",
    `d = document.body.appendChild(document.createElement("dialog")); d.showModal(); d.close(); d.remove()`,
  ],
  [
    "dialog twice",
    `d = document.body.appendChild(document.createElement("dialog")); d.showModal(); d.close(); d.close(); d.showModal(); d.close()`,
  ],
  [
    "popover",
    `d = document.createElement("div"); d.popover = "auto"; document.body.append(d); d.showPopover(); d.hidePopover(); d.remove()`,
  ],
  [
    "popover twice",
    `d = document.createElement("div"); d.popover = "auto"; document.body.append(d); d.showPopover(); d.hidePopover(); d.showPopover()`,
  ],
  [
    "popover removed",
    `d = document.createElement("div"); d.popover = "auto"; document.body.append(d); d.showPopover(); d.remove()`,
  ],
  ["reader", `r = new FileReader(); r.readAsText(new Blob(["a"])); r.abort()`],
  [
    "reader again",
    `r = new FileReader(); r.readAsText(new Blob(["a"])); r.abort(); r.readAsText(new Blob(["b"]))`,
  ],
  [
    "db",
    `indexedDB.open("x").onsuccess = ({target}) => { target.result.close(); indexedDB.deleteDatabase("x") }`,
  ],
  ["db blocked", `indexedDB.open("y").onsuccess = () => { indexedDB.deleteDatabase("y") }`],
  ["hash twice", `location.hash = "a"; location.hash = "b"; location.hash = "b"`],
  ["back", `history.pushState(1, ""); history.pushState(2, ""); setTimeout(() => history.back())`],
  ["hash replaced", `location.hash = "a"; history.replaceState(0, "", "#c")`],
  ["push hash", `history.pushState(0, "", "#c")`],
  // The last: Chromium goes back in the history of all frames, and may break off the loading of a next page.
  ["back nowhere", `history.back(); history.forward()`],
])("nothing is waited for that does not come: %s", async (_, code) => {
  const { run, clock } = await servedPage();
  run(code);
  clock.tick();
  await turns(20);
  await expect.poll(() => clock.pending).toEqual([]);
});
