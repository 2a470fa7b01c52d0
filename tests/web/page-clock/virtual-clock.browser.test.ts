/** Each override, in a frame of its own in Chromium. */

import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

test("T5: every clock of a page reads virtual time, and stands still between ticks", async () => {
  const { run, clock } = heldPage();
  const read = () =>
    run(`[performance.now(), Date.now() - performance.timeOrigin, new Date() - performance.timeOrigin,
        Math.round(new Event("x").timeStamp), document.timeline.currentTime]`);
  expect(read()).toEqual([0, 0, 0, 0, 0]);
  await turns();
  expect(read()).toEqual([0, 0, 0, 0, 0]);
  clock.tick();
  expect(read()).toEqual([17, 17, 17, 17, 17]);
  expect(run("Date()")).toBe(run("new Date().toString()"));
  expect(run("new Date(2020, 1, 2).getFullYear()")).toBe(2020);
  expect(run("new Date() instanceof Date && new Date().constructor === Date")).toBe(true);
});

test("timers, frames, idle callbacks, channels and messages wait for a tick", async () => {
  const { run, clock } = heldPage();
  run(`said = [];
     setTimeout((word) => said.push(word), 5, "timeout");
     setTimeout("said.push('string')", 6);
     requestAnimationFrame((now) => said.push("frame " + now));
     requestIdleCallback((deadline) => said.push("idle " + deadline.timeRemaining()));
     channel = new MessageChannel();
     channel.port1.onmessage = ({ data }) => said.push("channel " + data.word);
     channel.port2.postMessage({ word: "hello" });
     addEventListener("message", ({ data, source }) => said.push("message " + data + (source === window)));
     postMessage("self", "*");
     clearTimeout(setTimeout(() => said.push("never"), 1));
     cancelAnimationFrame(requestAnimationFrame(() => said.push("never")));`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  expect(run("said")).toEqual([
    "channel hello",
    "message selftrue",
    "idle 8",
    "timeout",
    "string",
    "frame 17",
  ]);
});

test("T5: chance follows the seed", () => {
  const draw = (seed: number) => {
    const { run, clock } = heldPage();
    clock.seed(seed);
    return run("[Math.random(), crypto.getRandomValues(new Uint8Array(4)).join(), crypto.randomUUID()]");
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect((draw(7) as string[])[2]).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  const { run } = heldPage();
  const mean = run(
    "let sum = 0; for (let i = 0; i < 10000; i++) sum += Math.random(); sum / 10000",
  ) as number;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
});

test("storage and cookies are each frame's own, and can be emptied", () => {
  const first = heldPage();
  const second = heldPage();
  first.run(`localStorage.best = 5; localStorage.setItem("name", "x"); document.cookie = "a=1; path=/"`);
  expect(
    first.run(`[localStorage.best, localStorage.length, Object.keys(localStorage).join(), document.cookie]`),
  ).toEqual(["5", 2, "best,name", "a=1"]);
  expect(second.run("[localStorage.length, localStorage.best, document.cookie]")).toEqual([0, undefined, ""]);
  first.clock.clearStorage();
  expect(first.run("[localStorage.getItem('best'), document.cookie]")).toEqual([null, ""]);
});

test("a page is always in front, of its own size, and asks nobody anything", () => {
  const { run } = heldPage({ size: [640, 300] });
  expect(
    run(`[document.hidden, document.visibilityState, document.hasFocus(), innerWidth, innerHeight, devicePixelRatio,
        screen.width, alert("x"), confirm("x"), prompt("x"), open("x"), navigator.getGamepads().join()]`),
  ).toEqual([false, "visible", true, 640, 300, 1, 640, undefined, true, null, null, ",,,"]);
});

test("keys that are held are pressed once and released once, as a page expects them", () => {
  const { run, clock } = heldPage();
  run(`said = []; for (const type of ["keydown", "keypress", "keyup"])
       addEventListener(type, (e) => said.push([type, e.code, e.key, e.keyCode, e.which, e.timeStamp, e.shiftKey].join(" ")));`);
  clock.tick();
  clock.hold(["KeyA"]);
  clock.hold(["KeyA", "ArrowLeft"]);
  clock.hold([]);
  expect(run("said")).toEqual([
    "keydown KeyA a 65 65 17 false",
    "keypress KeyA a 97 97 17 false",
    "keydown ArrowLeft ArrowLeft 37 37 17 false",
    "keyup KeyA a 65 65 17 false",
    "keyup ArrowLeft ArrowLeft 37 37 17 false",
  ]);
});

test("a key is told with the modifiers that are held beside it", () => {
  const { run, clock } = heldPage();
  run(
    `said = []; addEventListener("keydown", (e) => said.push([e.code, e.shiftKey, e.ctrlKey, e.altKey].join(" ")));`,
  );
  clock.hold(["ShiftLeft", "KeyA"]);
  clock.hold(["ControlRight", "AltLeft", "KeyB"]);
  expect(run("said")).toEqual([
    "ShiftLeft true false false",
    "KeyA true false false",
    "ControlRight false true false",
    "AltLeft false true true",
    "KeyB false true true",
  ]);
});

test("a click that begins on one element and ends on another is that of what holds both, as in browsers", () => {
  const { run, clock } = heldPage();
  run(`document.body.innerHTML = '<button style="position:fixed; inset:0"><i style="position:fixed; inset:0"></i></button>';
     said = [];
     document.querySelector("button").onclick = ({ target }) => said.push(target.tagName);
     document.querySelector("i").onpointerdown = ({ target }) => { target.style.visibility = "hidden"; };`);
  clock.point([20, 20], true);
  clock.point([20, 20], false);
  expect(run("said")).toEqual(["BUTTON"]);
});

test("what is under the pointer does not hang on how far a transition has come in real time", async () => {
  const { run, clock } = heldPage();
  const press = () => {
    clock.point([20, 20], true);
    clock.lift();
    return run("said.splice(0).join()");
  };
  run(`document.body.innerHTML = '<i style="position:fixed; left:0; top:0; width:40px; height:40px; transition: transform 60s"></i>';
     mole = document.querySelector("i");
     said = [];
     document.onpointerdown = ({ target }) => said.push(target.tagName);
     goAway = () => { mole.getBoundingClientRect(); mole.style.transform = "translate(200px)"; mole.getBoundingClientRect(); };
     goAway();`);
  // At its end at once, where nobody follows it.
  clock.followsAnimations = false;
  expect(press()).not.toBe("I");
  // Where it is followed it has not left yet.
  clock.followsAnimations = true;
  run(
    "mole.style.transition = 'none'; mole.style.transform = ''; mole.getBoundingClientRect(); mole.style.transition = 'transform 60s'; goAway();",
  );
  expect(press()).toBe("I");
  await turns();
  expect(press()).toBe("I");
});

test("the pointer moves, presses, releases and clicks what is under it", () => {
  const { run, clock } = heldPage();
  run(`document.body.innerHTML = '<button style="position:absolute;left:10px;top:10px;width:50px;height:20px">x</button>';
     said = []; for (const type of ["pointermove", "pointerdown", "mousedown", "mouseup", "click"])
       document.querySelector("button").addEventListener(type, (e) => said.push(type + " " + e.clientX + " " + e.buttons));`);
  clock.point([20, 15], true);
  clock.point([20, 15], false);
  clock.point([200, 100], true);
  expect(run("said")).toEqual([
    "pointermove 20 0",
    "pointerdown 20 1",
    "mousedown 20 1",
    "mouseup 20 0",
    "click 20 0",
  ]);
});

test("each page has a focus of its own, whatever the others do", () => {
  const code = `document.body.innerHTML = '<canvas tabindex="0"></canvas><p>text</p><input />'; said = [];
    canvas = document.querySelector("canvas"); input = document.querySelector("input");
    for (const type of ["focus", "blur", "keydown"]) canvas.addEventListener(type, (e) => said.push(type + (e.code ?? "")));
    canvas.focus();`;
  const first = heldPage();
  const second = heldPage();
  first.run(code);
  second.run(code);
  first.clock.hold(["KeyX"]);
  expect(first.run("[document.activeElement.tagName, said.join()]")).toEqual(["CANVAS", "focus,keydownKeyX"]);
  first.run(`document.querySelector("p").focus(); input.focus()`);
  expect(first.run("[document.activeElement.tagName, said.join()]")).toEqual([
    "INPUT",
    "focus,keydownKeyX,blur",
  ]);
  first.run("input.remove()");
  expect(first.run("document.activeElement.tagName")).toBe("BODY");
  // A press takes it along.
  const { x, y } = first.run("canvas.getBoundingClientRect()") as DOMRect;
  first.clock.point([x + 5, y + 5], true);
  expect(first.run("document.activeElement.tagName")).toBe("CANVAS");
});

test("what a person does reaches the page only while one plays", () => {
  const { run } = heldPage();
  run(`said = []; addEventListener("keydown", () => said.push("key"))`);
  // Untrusted ones are the trainer's or the page's own.
  run(`dispatchEvent(new KeyboardEvent("keydown"))`);
  expect(run("said")).toEqual(["key"]);
});

test("animations and transitions go by ticks, and their ends are told in the tick that they fall in", () => {
  const { run, clock } = heldPage();
  run(`document.head.innerHTML = "<style>@keyframes grow { from { width: 0 } to { width: 100px } }</style>";
     document.body.innerHTML = '<div style="animation: grow 100ms linear both"></div>';
     div = document.querySelector("div"); said = [];
     div.addEventListener("animationend", (e) => said.push(e.animationName + " " + performance.now()));`);
  clock.collectAnimations();
  const width = () => Number.parseFloat(run("getComputedStyle(div).width") as string);
  expect(width()).toBe(0);
  for (let i = 0; i < 3; i++) clock.tick();
  expect(width()).toBeCloseTo(50, 5);
  for (let i = 0; i < 3; i++) clock.tick();
  expect(width()).toBe(100);
  expect(run("said")).toEqual(["grow 100"]);
});

test("observers are told in ticks: of a size at first and whenever it changed, then of what is in view", async () => {
  const { run, clock } = heldPage();
  run(`document.body.innerHTML = '<div style="width:50px;height:20px;padding:5px;border:1px solid"></div>';
     div = document.querySelector("div"); said = [];
     sizes = new ResizeObserver((entries, self) => { for (const { contentRect: r, contentBoxSize: [c], borderBoxSize: [b], target } of entries)
       said.push(["size", r.width, r.height, c.inlineSize, b.inlineSize, target === div, self === sizes].join(" ")); });
     sizes.observe(div);
     new IntersectionObserver(([{ isIntersecting }]) => said.push("seen " + isIntersecting)).observe(div);`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  clock.tick();
  expect(run("said")).toEqual(["size 50 20 50 62 true true", "seen true"]);
  run(`said = []; div.style.width = "70px"`);
  await turns();
  expect(run("said")).toEqual([]);
  clock.tick();
  expect(run("said")).toEqual(["size 70 20 70 82 true true"]);
  run(`said = []; sizes.unobserve(div); div.style.width = "80px"`);
  clock.tick();
  expect(run("said")).toEqual([]);
});

test("what the page waits for from outside is counted until it is there", async () => {
  const { run, clock } = heldPage();
  run(`fetch("data:application/json,[1,2]").then((r) => r.json()).then((found) => { got = found; });
     image = new Image(); image.src = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";`);
  expect(clock.numLoading).toBe(2);
  await expect.poll(() => clock.numLoading).toBe(0);
  await turns();
  expect(run("[got, image.naturalWidth]")).toEqual([[1, 2], 1]);
});

test("sound is silent, runs on virtual time, and ends when it would", async () => {
  const { run, clock } = heldPage();
  run(`said = []; context = new AudioContext();
     source = context.createBufferSource(); source.buffer = context.createBuffer(1, 4410, 44100);
     source.onended = () => said.push("ended " + performance.now());
     source.connect(context.createGain()).connect(context.destination); source.start();
     music = new Audio("music.mp3"); music.addEventListener("canplaythrough", () => said.push("music")); music.play();
     context.createGain().gain.setValueAtTime(1, 0).linearRampToValueAtTime(0, 1);`);
  await expect.poll(() => clock.numLoading).toBe(0);
  for (let i = 0; i < 6; i++) clock.tick();
  expect(run("[said, context.currentTime, context.state]")).toEqual([["music", "ended 100"], 0.1, "running"]);
});

test("undrawn, a canvas stays empty while text can be measured; a page that reads it back is heard of", () => {
  const { run, clock } = heldPage({ draws: false });
  const red = `canvas = document.createElement("canvas"); context = canvas.getContext("2d");
    context.fillStyle = "red"; context.fillRect(0, 0, 9, 9); context.getImageData(1, 1, 1, 1).data[0]`;
  expect(clock.isDrawingRead).toBe(false);
  expect(run(red)).toBe(0);
  expect(clock.isDrawingRead).toBe(true);
  expect(run(`context.measureText("word").width > 0`)).toBe(true);
  // From now on that canvas is drawn, and no other.
  const again = `context.fillRect(0, 0, 9, 9); context.getImageData(1, 1, 1, 1).data[0]`;
  expect(run(again)).toBe(255);
  expect(run(red)).toBe(0);
});

test("the null WebGL passes for a device: shaders compile, programs link, buffers are complete", () => {
  const { run } = heldPage();
  for (const kind of ["webgl", "webgl2"]) {
    const found =
      run(`gl = document.createElement("canvas").getContext("${kind}"); shader = gl.createShader(gl.VERTEX_SHADER);
       gl.compileShader(shader); program = gl.createProgram(); gl.linkProgram(program); gl.drawArrays(gl.TRIANGLES, 0, 3);
       [gl.getShaderParameter(shader, gl.COMPILE_STATUS), gl.getProgramParameter(program, gl.LINK_STATUS), gl.getError(),
        gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE, gl.getParameter(gl.MAX_TEXTURE_SIZE),
        gl.canvas.width, gl.drawingBufferWidth, gl instanceof ${kind === "webgl" ? "WebGLRenderingContext" : "WebGL2RenderingContext"}]`);
    expect(found).toEqual([true, true, 0, true, 4096, 300, 300, true]);
  }
  const none = heldPage({ webGl: "none" });
  expect(none.run(`document.createElement("canvas").getContext("webgl")`)).toBe(null);
});

test("a canvas that is refused WebGL is known until it draws in 2D; throwaway tries are no canvas of the page", () => {
  const { run, clock } = heldPage({ webGl: "none" });
  run(`board = document.createElement("canvas"); board.id = "board"; board.getContext("webgl2")`);
  expect([...clock.refusedWebGl].map((canvas) => (canvas as HTMLCanvasElement).id)).toEqual(["board"]);
  expect(run(`board.getContext("2d") !== null && board.getContext("webgl")`)).toBe(null);
  expect(clock.refusedWebGl.size).toBe(0);
  expect(clock.webGlRenderer).toBe(null);
  const real = heldPage({ webGl: "real" });
  real.run(`document.createElement("canvas").getContext("webgl")`);
  expect(real.clock.webGlRenderer).toMatch(/\w/);
});

test("what an agent sees is kept where it can be read", () => {
  const attributes = `[document.createElement("canvas").getContext("2d", { alpha: false }).getContextAttributes(),
    document.createElement("canvas").getContext("webgl").getContextAttributes()]`;
  const seen = heldPage({ webGl: "real", isSeen: true }).run(attributes) as object[];
  expect(seen[0]).toMatchObject({ willReadFrequently: true, alpha: false });
  expect(seen[1]).toMatchObject({ preserveDrawingBuffer: true });
  const unseen = heldPage({ webGl: "real" }).run(attributes) as object[];
  expect(unseen[0]).toMatchObject({ willReadFrequently: false });
  expect(unseen[1]).toMatchObject({ preserveDrawingBuffer: false });
});

test("T5: what no clock holds is said", () => {
  const { run, clock } = heldPage();
  run(`new Worker(URL.createObjectURL(new Blob([""]))).terminate()`);
  const worker = "runs code in a web worker, which reads real time: its results are not reproducible";
  expect([...clock.unheld]).toEqual([worker]);
  run(`new SharedWorker(URL.createObjectURL(new Blob([""]))).port.close()`);
  expect([...clock.unheld]).toEqual([worker, worker.replace("web worker", "shared worker")]);
});

test("videos, other pages, databases, cameras and frames without a clock are said too", async () => {
  const { page, run, clock } = heldPage();
  run(`said = []; navigator.mediaDevices?.getUserMedia({ audio: true }).catch((e) => said.push(e.name));
     new BroadcastChannel("x").close(); indexedDB.open("x"); document.createElement("video").play();
     const frame = document.createElement("iframe"); frame.srcdoc = "<script>setInterval(() => 0, 5)</" + "script>";
     const empty = document.createElement("iframe"); document.body.append(frame, empty);
     const video = document.createElement("div"); video.innerHTML = '<video autoplay src="data:video/mp4;base64,AAAA">';
     document.body.append(video)`);
  await expect.poll(() => [...clock.unheld].length).toBe(5 + Number("mediaDevices" in page.navigator));
  const camera =
    "mediaDevices" in page.navigator ? ["asks for a camera or a microphone, which is not there"] : [];
  expect([...clock.unheld].sort()).toEqual([
    ...camera,
    "has a frame within the page that runs in real time until it has loaded",
    "sends messages to other pages through a channel, which works in real time",
    "shows a video, which runs in real time",
    "shows a video, which stays black here",
    "stores data in IndexedDB, which is not cleared between episodes",
  ]);
});

test("nobody else is asked for anything: the page hears that there is no network, in the next tick", async () => {
  const { run, clock } = heldPage();
  run(`said = []; fetch("https://elsewhere.example/x").catch((e) => said.push("fetch " + e.name));
     image = new Image(); image.onerror = () => said.push("image"); image.src = "https://elsewhere.example/x.png";
     socket = new WebSocket("wss://elsewhere.example"); socket.onclose = () => said.push("socket " + socket.readyState);`);
  await turns();
  expect(run("said")).toEqual(["fetch TypeError"]);
  clock.tick();
  expect(run("said")).toEqual(["fetch TypeError", "image", "socket 3"]);
  expect(clock.numLoading).toBe(0);
  expect([...clock.unheld].sort()).toEqual([
    "requests data from elsewhere.example, which is blocked",
    "talks to a server, which is not there",
  ]);
});

test("what a page throws is kept, and whether anything of it still runs is known", () => {
  const { run, clock } = heldPage();
  expect(clock.isIdle).toBe(true);
  run(`requestAnimationFrame(() => { throw new Error("over") })`);
  expect(clock.isIdle).toBe(false);
  clock.tick();
  expect(clock.errors.map((error) => (error as Error).message)).toEqual(["over"]);
  expect(clock.isIdle).toBe(true);
});

test("what a page writes by console.error is kept with its place, and written all the same", () => {
  const { run, clock } = heldPage();
  expect(clock.consoleErrors).toEqual([]);
  run(`console.log("no error")`);
  run(`(function odd() { console.error("odd state", { tick: 3 }); })()`);
  expect(clock.consoleErrors.map(({ args }) => args)).toEqual([["odd state", { tick: 3 }]]);
  expect(clock.consoleErrors[0].stack).toContain("at odd");
  for (let i = 0; i < 30; i++) run(`console.error(${i})`);
  expect(clock.consoleErrors).toHaveLength(20);
  expect(clock.consoleErrors.at(-1)?.args).toEqual([29]);
});
