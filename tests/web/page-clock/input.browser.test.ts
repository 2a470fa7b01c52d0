import { expect, test } from "vitest";
import type { Point } from "../../../web/page-clock/src/pointer.ts";
import type { PointerHow } from "../../../web/sdk/src/page-adapter.ts";
import { type HeldPage, heldPage } from "./held-page.ts";

const AT = "position: absolute; width: 50px; height: 50px; top: 0; margin: 0; padding: 0; border: 0;";

/** A page with that body; `said` has `tag type` of each of these events, in the order in which they come. */
function page(html: string, ...events: string[]) {
  return pageOf(heldPage(), html, events);
}

function pageOf(held: HeldPage, html: string, events: readonly string[]) {
  held.frame.width = "400";
  held.run(`document.body.innerHTML = ${JSON.stringify(html)}; said = []; $ = (selector) => document.querySelector(selector);
    hear = (target, ...names) => { for (const name of names) target.addEventListener(name, (event) => {
      if (event.target === event.currentTarget || event.bubbles) said.push(((event.currentTarget.id || event.currentTarget.tagName) ?? "") + " " + name); }); };
    for (const one of document.querySelectorAll("[id]")) hear(one, ...${JSON.stringify(events)});`);
  const said = (): unknown => {
    const heard = held.run("said.join(', ')");
    held.run("said = []");
    return heard;
  };
  const press = (...codes: string[]): void => {
    for (const code of codes) {
      held.clock.hold(code.startsWith("+") ? ["ShiftLeft", code.slice(1)] : [code]);
      held.clock.hold([]);
    }
  };
  return { ...held, said, press };
}

const click = ({ clock }: ReturnType<typeof page>, x: number, y = 20): void => {
  clock.point([x, y], true);
  clock.point([x, y], false);
};

test("a pointer that moves is told of what it leaves and comes to, in a browser's order", () => {
  const events = ["over", "enter", "out", "leave", "move"].flatMap((name) => [
    `pointer${name}`,
    `mouse${name}`,
  ]);
  const made = page(`<p id="a" style="${AT} left: 0"></p><p id="b" style="${AT} left: 60px"></p>`, ...events);
  made.run(
    `document.addEventListener("mousemove", (event) => said.push(event.movementX + "," + event.movementY + " " + event.buttons))`,
  );
  made.clock.point([20, 20], false);
  expect(made.said()).toBe(
    "a pointerover, a pointerenter, a mouseover, a mouseenter, a pointermove, a mousemove, 20,20 0",
  );
  made.clock.point([80, 10], false);
  expect(made.said()).toBe(
    "a pointerout, a pointerleave, b pointerover, b pointerenter, a mouseout, a mouseleave, b mouseover, b mouseenter, " +
      "b pointermove, b mousemove, 60,-10 0",
  );
});

test("a click says which it is of several, and two are a double click where they are soon enough", () => {
  const made = page(`<p id="a" style="${AT} left: 0"></p>`);
  made.run(`for (const name of ["mousedown", "mouseup", "click", "dblclick"])
    $("#a").addEventListener(name, (event) => said.push(name + event.detail + event.constructor.name[0] + event.button))`);
  click(made, 20);
  click(made, 20);
  expect(made.said()).toBe(
    "mousedown1M0, mouseup1M0, click1P0, mousedown2M0, mouseup2M0, click2P0, dblclick2M0",
  );
  for (let i = 0; i < 40; i++) made.clock.tick();
  click(made, 20);
  expect(made.said()).toBe("mousedown1M0, mouseup1M0, click1P0");
});

test("a control that is disabled is not pressed, and a press that is prevented moves no focus", () => {
  const made = page(
    `<button id="a" disabled style="${AT} left: 0"><b id="b">go</b></button><input id="c" style="${AT} left: 60px">`,
    ...["pointerdown", "mousedown", "mouseup", "click"],
  );
  click(made, 20);
  expect(made.said()).not.toMatch(/mouse|click/);
  made.run(`$("#c").onmousedown = (event) => event.preventDefault()`);
  click(made, 80);
  expect(made.run("document.activeElement.tagName")).toBe("BODY");
  made.run(
    `$("#c").onmousedown = null; $("#c").onpointerdown = (event) => event.preventDefault(); said = []`,
  );
  click(made, 80);
  expect(made.said()).toBe("c pointerdown, c click");
});

test("what has captured the pointer gets its moves and its release, wherever it is", () => {
  const events = ["gotpointercapture", "lostpointercapture", "pointermove", "mousemove", "pointerup"];
  const made = page(`<p id="a" style="${AT} left: 0"></p><p id="b" style="${AT} left: 60px"></p>`, ...events);
  made.run(
    `$("#a").onpointerdown = ({ pointerId }) => { $("#a").setPointerCapture(pointerId); said.push($("#a").hasPointerCapture(pointerId)); }`,
  );
  made.clock.point([20, 20], true);
  made.said();
  made.clock.point([80, 20], true);
  made.clock.point([80, 20], false);
  expect(made.said()).toBe(
    "a gotpointercapture, a pointermove, a mousemove, a pointerup, a lostpointercapture",
  );
  expect(() => made.run(`$("#a").setPointerCapture(7)`)).toThrow(/No active pointer/);
  made.clock.point([90, 20], false);
  expect(made.said()).toBe("b pointermove, b mousemove");
});

test("a pointer that is locked moves what has the lock, by what it moves", () => {
  const made = page(`<p id="a" style="${AT} left: 0"></p>`);
  made.run(
    `$("#a").requestPointerLock(); $("#a").addEventListener("mousemove", ({ movementX }) => said.push(movementX))`,
  );
  made.clock.tick();
  made.clock.point([300, 100], false);
  expect([made.said(), made.run("document.pointerLockElement.id")]).toEqual(["300", "a"]);
});

test("what lies in a shadow is under the pointer, and has the focus there", () => {
  const made = page(`<p id="host" style="${AT} left: 0"></p>`, "click");
  made.run(`shadow = $("#host").attachShadow({ mode: "open" });
    shadow.innerHTML = '<button id="inner" style="${AT} left: 0"></button>'; hear(shadow.querySelector("button"), "click", "keydown")`);
  click(made, 20);
  made.press("KeyA");
  expect([made.said(), made.run("[document.activeElement.id, shadow.activeElement.id].join()")]).toEqual([
    "inner click, host click, inner keydown",
    "host,inner",
  ]);
});

test("keys write into the field that has the focus, as an American keyboard does", () => {
  const made = page(
    `<input id="a" maxlength="6"><textarea id="b"></textarea>`,
    "beforeinput",
    "input",
    "change",
  );
  made.run(`$("#a").focus()`);
  made.press("KeyA", "+KeyB", "+Digit1", "Slash");
  expect([made.run(`$("#a").value`), made.said()]).toEqual([
    "aB!/",
    Array(4).fill("a beforeinput, a input").join(", "),
  ]);
  made.press("Backspace", "Home", "Delete", "KeyX", "KeyY", "KeyZ", "KeyZ", "KeyZ");
  expect(made.run(`$("#a").value`)).toBe("xyzzB!");
  made.said();
  made.press("Tab");
  expect([made.said(), made.run("document.activeElement.id")]).toEqual(["a change", "b"]);
  made.press("KeyA", "Enter", "+KeyB");
  expect(made.run(`$("#b").value`)).toBe("a\nB");
  made.run(`addEventListener("keydown", (event) => event.preventDefault(), true)`);
  made.press("KeyC");
  made.press("+Tab");
  expect(made.run(`[$("#b").value, document.activeElement.id]`)).toEqual(["a\nB", "b"]);
});

test("Enter and Space press what has the focus, and Enter sends a form", () => {
  const made = page(
    `<form id="form"><input id="name"><button id="go">Go</button></form><button id="own" type="button">x</button>
     <input id="box" type="checkbox"><details id="more"><summary id="sum">more</summary>text</details>`,
    ...["click", "submit", "keypress"],
  );
  made.run(`$("#form").addEventListener("submit", (event) => event.preventDefault()); $("#name").focus()`);
  made.press("Enter");
  expect(made.said()).toBe("name keypress, form keypress, go click, form click, form submit");
  for (const [id, code] of [
    ["own", "Enter"],
    ["own", "Space"],
    ["box", "Space"],
    ["sum", "Enter"],
  ]) {
    made.run(`$("#${id}").focus()`);
    made.press(code);
  }
  expect(made.said()).toBe(
    "own keypress, own click, own keypress, own click, box keypress, box click, sum keypress, more keypress, sum click, more click",
  );
  expect(made.run(`[$("#box").checked, $("#more").open]`)).toEqual([true, true]);
});

test("arrows move a range, a choice and radio buttons; Escape closes a dialog that does not refuse", () => {
  const made = page(
    `<input id="range" type="range" value="50"><select id="pick"><option>1<option disabled>2<option>3</select>
     <input type="radio" name="r" id="r1" checked><input type="radio" name="r" id="r2">
     <dialog id="ask"><button id="ok">OK</button></dialog>`,
    ...["input", "change", "cancel"],
  );
  made.run(`$("#range").focus()`);
  made.press("ArrowRight");
  made.run(`$("#pick").focus()`);
  made.press("ArrowDown");
  made.run(`$("#r1").focus()`);
  made.press("ArrowDown");
  expect(made.run(`[$("#range").value, $("#pick").value, $("#r2").checked]`)).toEqual(["51", "3", true]);
  expect(made.said()).toBe("range input, range change, pick input, pick change, r2 input, r2 change");
  made.run(`$("#range").focus(); $("#ask").showModal()`);
  expect(made.run("document.activeElement.id")).toBe("ok");
  made.press("Escape");
  expect([made.said(), made.run(`[$("#ask").open, document.activeElement.id]`)]).toEqual([
    "ask cancel",
    [false, "range"],
  ]);
  made.run(`$("#ask").showModal(); $("#ask").oncancel = (event) => event.preventDefault()`);
  made.press("Escape");
  expect(made.run(`$("#ask").open`)).toBe(true);
});

test("what asks for the focus as the page is there has it", async () => {
  const made = page(`<div id="a" tabindex="0" autofocus></div>`, "keydown");
  made.run(`document.dispatchEvent(new Event("DOMContentLoaded"))`);
  made.press("KeyA");
  expect(made.said()).toBe("a keydown");
});

test("a press beside it, or Escape, closes what is open in front; what is in it or opened it does not", () => {
  const made = page(
    `<button id="menu" popovertarget="pop" style="${AT} left: 0">menu</button>
     <div id="pop" popover style="${AT} left: 60px; inset: auto; margin: 0">pop</div>
     <dialog id="ask" closedby="any" style="${AT} left: 200px">ask</dialog>`,
    "cancel",
  );
  const open = (): unknown => made.run(`[$("#pop").matches(":popover-open"), $("#ask").open]`);
  made.run(`$("#pop").showPopover()`);
  const { left, top } = made.run(`$("#pop").getBoundingClientRect()`) as DOMRect;
  click(made, left + 5, top + 5);
  expect(open()).toEqual([true, false]);
  click(made, 350, 100);
  expect(open()).toEqual([false, false]);
  made.run(`$("#ask").show(); $("#pop").showPopover()`);
  made.press("Escape");
  expect(open()).toEqual([false, true]);
  click(made, 380, 100);
  expect([open(), made.said()]).toEqual([[false, false], "ask cancel"]);
});

test("a finger touches what it came down on until it is gone, and is a mouse where it only taps", () => {
  const events = ["down", "move", "up"].flatMap((name) => [`pointer${name}`, `mouse${name}`]);
  const made = pageOf(
    heldPage({ touch: true }),
    `<p id="a" style="${AT} left: 0"></p><p id="b" style="${AT} left: 60px"></p>`,
    [...events, "touchstart", "touchmove", "touchend", "click"],
  );
  made.clock.point([20, 20], false);
  expect(made.said()).toBe("");
  click(made, 20);
  expect(made.said()).toBe(
    "a pointerdown, a touchstart, a pointerup, a touchend, a mousemove, a mousedown, a mouseup, a click",
  );
  made.run(
    `document.ontouchmove = ({ touches, targetTouches: [touch], changedTouches }) => said.push([touches.length, touch.target.id, touch.clientX, touch.pageY, changedTouches.length].join(" "))`,
  );
  made.clock.point([20, 20], true);
  made.clock.point([80, 30], true);
  made.clock.point([80, 30], false);
  expect(made.said()).toBe(
    "a pointerdown, a touchstart, a pointermove, a touchmove, 1 a 80 30 1, a pointerup, a touchend",
  );
  made.run(`$("#a").ontouchstart = (event) => event.preventDefault(); ontouchend = () => said.push("own")`);
  click(made, 20);
  expect(made.said()).toBe("a pointerdown, a touchstart, a pointerup, a touchend, own");
});

test("a dialog that its own form closes gives the focus back", async () => {
  const made = page(
    `<input id="a"><dialog id="ask"><form method="dialog"><button id="ok">OK</button></form></dialog>`,
  );
  made.run(`$("#a").focus(); $("#ask").showModal()`);
  made.press("Enter");
  await expect.poll(() => made.run("[$('#ask').open, document.activeElement.id].join()")).toBe("false,a");
});

/** What Chromium 156 tells a page of the same done by its DevTools protocol: the page and the events of `told` recorded there. */
const RECORDED: [name: string, code: string, steps: [number, number, PointerHow, Point?][], told: string][] =
  [
    [
      "right button",
      "",
      [[20, 20, "right"]],
      "a pointerdown 2/2/0, a mousedown 2/2/1, a contextmenu 2/2/0, a pointerup 2/0/0, a mouseup 2/0/1, a auxclick 2/0/1",
    ],
    [
      "right button, pointerdown prevented",
      "document.onpointerdown=(e)=>e.preventDefault()",
      [[20, 20, "right"]],
      "a pointerdown 2/2/0, a contextmenu 2/2/0, a pointerup 2/0/0, a auxclick 2/0/1",
    ],
    [
      "middle button",
      "",
      [[20, 20, "middle"]],
      "a pointerdown 1/4/0, a mousedown 1/4/1, a pointerup 1/0/0, a mouseup 1/0/1, a auxclick 1/0/1",
    ],
    [
      "right button let go elsewhere",
      "",
      [
        [20, 20, "right"],
        [70, 20, "right"],
      ],
      "a pointerdown 2/2/0, a mousedown 2/2/1, a contextmenu 2/2/0, b pointermove -1/2/0, b mousemove 0/2/0, b pointerup 2/0/0, b mouseup 2/0/1, body auxclick 2/0/1",
    ],
    [
      "double click",
      "",
      [[20, 20, "double"]],
      "a pointerdown 0/1/0, a mousedown 0/1/1, a pointerup 0/0/0, a mouseup 0/0/1, a click 0/0/1, a pointerdown 0/1/0, a mousedown 0/1/2, a pointerup 0/0/0, a mouseup 0/0/2, a click 0/0/2, a dblclick 0/0/2",
    ],
    ["wheel", "", [[243, 20, "wheel-down"]], "in wheel 100/0/-120, s scroll"],
    [
      "wheel, prevented",
      "$('#s').addEventListener('wheel',(e)=>e.preventDefault())",
      [[243, 20, "wheel-down"]],
      "in wheel 100/0/-120",
    ],
    [
      "drag and drop",
      "$('#d').ondragstart=(e)=>e.dataTransfer.setData('text','hi'); $('#z').ondragover=(e)=>e.preventDefault();",
      [
        [130, 20, "drag"],
        [140, 20, "drag"],
        [190, 20, "drag"],
        [190, 21, "drag"],
      ],
      "d pointerdown 0/1/0, d mousedown 0/1/1, d pointermove -1/1/0, d mousemove 0/1/0, d dragstart uninitialized/none, d pointercancel 0/0/0, d dragenter all/copy, z dragenter all/copy, d dragleave all/none, z dragover all/copy, z dragover all/copy, z drop all/copy hi, d dragend uninitialized/copy",
    ],
    [
      "drag to what does not take it",
      "",
      [
        [130, 20, "drag"],
        [140, 20, "drag"],
        [190, 20, "drag"],
        [190, 21, "drag"],
      ],
      "d pointerdown 0/1/0, d mousedown 0/1/1, d pointermove -1/1/0, d mousemove 0/1/0, d dragstart uninitialized/none, d pointercancel 0/0/0, d dragenter all/copy, z dragenter all/copy, d dragleave all/none, z dragover all/copy, z dragover all/copy, z dragleave all/none, d dragend uninitialized/none",
    ],
    [
      "drag that the page refuses",
      "$('#d').ondragstart=(e)=>e.preventDefault()",
      [
        [130, 20, "drag"],
        [140, 20, "drag"],
        [190, 20, "drag"],
      ],
      "d pointerdown 0/1/0, d mousedown 0/1/1, d pointermove -1/1/0, d mousemove 0/1/0, d dragstart uninitialized/none, z pointermove -1/1/0, z mousemove 0/1/0, z pointerup 0/0/0, z mouseup 0/0/1, body click 0/0/1",
    ],
    [
      "drag with effects that do not agree",
      "$('#d').ondragstart=(e)=>e.dataTransfer.setData('text','hi'); $('#z').ondragover=(e)=>e.preventDefault();$('#d').addEventListener('dragstart',(e)=>{e.dataTransfer.effectAllowed='move'}); $('#z').addEventListener('dragover',(e)=>{e.dataTransfer.dropEffect='copy'})",
      [
        [130, 20, "drag"],
        [140, 20, "drag"],
        [190, 20, "drag"],
        [190, 21, "drag"],
      ],
      "d pointerdown 0/1/0, d mousedown 0/1/1, d pointermove -1/1/0, d mousemove 0/1/0, d dragstart uninitialized/none, d pointercancel 0/0/0, d dragenter move/move, z dragenter move/move, d dragleave move/none, z dragover move/move, z dragover move/move, z dragleave move/none, d dragend move/none",
    ],
    [
      "two fingers",
      "",
      [
        [20, 20, "two", [70, 20]],
        [10, 20, "two", [80, 20]],
      ],
      "a pointerdown 2p, a touchstart 0/0/0, b pointerdown 3, b touchstart 01/1/1, b gotpointercapture 3, b pointermove 3, a gotpointercapture 2p, a pointermove 2p, b touchmove 01/1/01, a touchmove 01/0/01, a pointerup 2p, a lostpointercapture 2p, a touchend 1//0, b pointerup 3, b lostpointercapture 3, b touchend //1",
    ],
    [
      "two fingers on one element",
      "$('#a').ontouchstart=(e)=>e.preventDefault()",
      [
        [10, 20, "two", [40, 20]],
        [20, 20, "two", [30, 20]],
      ],
      "a pointerdown 2p, a touchstart 0/0/0, a pointerdown 3, a touchstart 01/01/1, a gotpointercapture 3, a pointermove 3, a gotpointercapture 2p, a pointermove 2p, a touchmove 01/01/01, a pointerup 2p, a lostpointercapture 2p, a touchend 1/1/0, a pointerup 3, a lostpointercapture 3, a touchend //1",
    ],
    [
      "tap",
      "",
      [[20, 20, "press"]],
      "a pointerdown 2p, a touchstart 0/0/0, a gotpointercapture 2p, a pointerup 2p, a lostpointercapture 2p, a touchend //0, a mousemove 0/0/0, a mousedown 0/1/1, a mouseup 0/0/1, a click 2",
    ],
  ];

test.each(RECORDED)("a page is told as by Chromium: %s", async (name, code, steps, told) => {
  const made = heldPage({ touch: /tap|finger/.test(name) });
  made.frame.width = "400";
  const at = (left: number): string => `${AT} left: ${left}px; touch-action: none`;
  const html = `<p id="a" style="${at(0)}"></p><p id="b" style="${at(60)}"></p><p id="d" draggable="true" style="${at(120)}"></p>
    <p id="z" style="${at(180)}"></p><div id="s" style="${at(240)}; overflow: auto"><div id="in" style="width: 10px; height: 500px"></div></div>`;
  made.run(`document.body.innerHTML = ${JSON.stringify(html)}; document.body.style.cssText = "margin: 0; height: 600px"; said = [];
    $ = (selector) => document.querySelector(selector); ${code}`);
  const [[x, y]] = steps;
  made.clock.point([x, y], false);
  const types = [
    ...new Set(RECORDED.flatMap(([, , , all]) => all.split(", ").map((one) => one.split(" ")[1]))),
  ];
  made.run(`for (const type of ${JSON.stringify(types)}) document.addEventListener(type, (e) => {
    const list = (touches) => [...touches].map((one) => one.identifier).join("");
    const { dataTransfer: data } = e;
    const more = data ? data.effectAllowed + "/" + data.dropEffect + (data.getData("text") ? " " + data.getData("text") : "")
      : "touches" in e ? [e.touches, e.targetTouches, e.changedTouches].map(list).join("/")
      : e.pointerId > 1 ? e.pointerId + (e.isPrimary ? "p" : "")
      : "deltaY" in e ? [e.deltaY, e.deltaMode, e.wheelDelta].join("/")
      : "buttons" in e ? [e.button, e.buttons, e.detail].join("/") : "";
    said.push([e.target.id || e.target.nodeName.toLowerCase(), type, more].join(" ").trim());
  }, true)`);
  for (const [left, top, how, second] of steps) made.clock.point([left, top], how, second);
  made.clock.lift();
  await expect.poll(() => made.run("said.join(', ')")).toBe(told);
});

test("a gamepad is there from its first press on, with what is held", () => {
  const made = page("");
  made.run(
    "ongamepadconnected = ({ gamepad }) => said.push(gamepad.index, gamepad.mapping, gamepad instanceof Gamepad)",
  );
  made.clock.hold(["PadB", "PadStickLeft", "PadStick2Down"]);
  const read =
    "(([{ buttons, axes }]) => buttons.flatMap(({ pressed }, i) => (pressed ? [i] : [])) + ' | ' + axes)(navigator.getGamepads())";
  expect([made.said(), made.run(read)]).toEqual(["0, standard, true", "1 | -1,0,0,1"]);
  made.clock.hold([]);
  expect([made.said(), made.run(read)]).toEqual(["", " | 0,0,0,0"]);
});

test("a popover has the focus as the browser gives it, however it is opened, and gives it back, unless it is one by hand", () => {
  const made = page(
    `<input id="a"><div id="pop" popover><p id="host"></p></div><button id="go" popovertarget="pop"></button>`,
  );
  made.run(`$("#host").attachShadow({ mode: "open", delegatesFocus: true }).innerHTML = "<button disabled></button><button autofocus></button>";
    $("#host").autofocus = true; focused = () => document.activeElement.id || document.activeElement.tagName; $("#a").focus(); $("#go").click()`);
  expect(made.run("focused()")).toBe("host");
  made.run("$('#go').click()");
  expect(made.run("focused()")).toBe("a");
  made.run("$('#pop').popover = 'manual'; $('#pop').showPopover(); $('#pop').hidePopover()");
  expect(made.run("focused()")).not.toBe("a");
});

test("behind a modal dialog nothing takes the focus", () => {
  const made = page(`<input id="a"><dialog id="ask"><button id="ok">OK</button></dialog>`);
  made.run("$('#ask').showModal(); $('#a').focus()");
  expect(made.run("document.activeElement.id")).toBe("ok");
});

test("a page whose listener asks whether a person pressed is named", () => {
  const made = page(`<p id="a" style="${AT}"></p>`);
  made.run("$('#a').addEventListener('click', (event) => { if (event.isTrusted) said.push('hit'); })");
  click(made, 20);
  expect(made.said()).toBe("");
  expect([...made.clock.unheld]).toEqual([
    "asks of each click whether a person did it (isTrusted), and may ignore those of an agent",
  ]);
});
