import { expect, test } from "vitest";
import { heldPage } from "./held-page.ts";

test("a message says who sent it: the page, or the frame within it whose code ran", () => {
  const { run, clock, page } = heldPage();
  run(`said = []; document.body.innerHTML = "<iframe></iframe>"; inner = document.querySelector("iframe").contentWindow;
    onmessage = (event) => said.push([event.data, event.source === inner, event.source === window, event.origin === origin].join())`);
  const nest = (page as unknown as { attractNest(inner: unknown): void }).attractNest;
  nest((page as unknown as { inner: unknown }).inner);
  run(`inner.eval("setTimeout(() => parent.postMessage('in', '*')); onmessage = (event) => event.source.postMessage('back', '*')");
    setTimeout(() => { postMessage("self", "*"); postMessage("no", "https://example.com"); inner.postMessage("to", "*"); })`);
  for (let i = 0; i < 4; i++) clock.tick();
  expect((run("said") as string[]).sort()).toEqual([
    "back,true,false,true",
    "in,true,false,true",
    "self,false,true,true",
  ]);
});

test("ports are handed over, wait until they are started, and are ports", () => {
  const { run, clock } = heldPage();
  run(`said = []; channel = new MessageChannel();
    onmessage = ({ ports: [port], data }) => { said.push([port instanceof MessagePort, data.port === port].join()); port.postMessage("early"); port.onmessage = ({ data }) => said.push(data); };
    postMessage({ port: channel.port2 }, "*", [channel.port2]);`);
  clock.tick();
  clock.tick();
  expect(run("said")).toEqual(["true,true"]);
  run(
    `channel.port1.addEventListener("message", ({ data }) => said.push(data)); channel.port1.start(); channel.port1.postMessage("late")`,
  );
  clock.tick();
  expect(run("said")).toEqual(["true,true", "early", "late"]);
  expect(() => run("channel.port1.postMessage(() => 0)")).toThrow(/could not be cloned/);
});
