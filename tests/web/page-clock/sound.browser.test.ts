import { expect, test } from "vitest";
import { heldPage, turns } from "./held-page.ts";

test("T5: contexts of every name are silent ones: states, decoding and ends without real time", async () => {
  const { run, clock } = heldPage();
  run(`said = [];
    contexts = [AudioContext, AudioContext, AudioContext].map((Context) => new Context());
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
  await expect.poll(() => clock.numLoading).toBe(0);
  expect(run("said")).toEqual([]);
  clock.tick();
  expect((run("said.splice(0)") as string[]).sort()).toEqual([
    "attribute canplaythrough",
    "constructed canplaythrough",
    "made canplaythrough",
  ]);
  expect(run("facts")).toEqual([true, Number.NaN, 4, expect.stringMatching(/^http.*\/a.mp3$/)]);
  run("made.pause(); made.play(); first = made.paused; made.pause(); second = made.paused");
  expect(run("[first, second]")).toEqual([false, true]);
  clock.tick();
  expect(run("said")).toEqual(["made play", "made playing", "made pause"]);
});

/** A sound of that length: a WAV file of silence. */
const WAV = `wav = (seconds) => { const n = 8000 * seconds, view = new DataView(new ArrayBuffer(44 + n));
  [0x52494646, 0, 0x57415645, 0x666d7420].forEach((word, i) => view.setUint32(4 * i, word)); view.setUint32(4, 36 + n, true);
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true); view.setUint32(24, 8000, true);
  view.setUint32(28, 8000, true); view.setUint16(32, 1, true); view.setUint16(34, 8, true); view.setUint32(36, 0x64617461);
  view.setUint32(40, n, true); return view.buffer; }`;

test("a sound is as long as it is, decoded or in an element, and an element says where it is", async () => {
  const { run, clock } = heldPage();
  run(`${WAV}; said = []; at = (name) => said.push(name + " " + Math.round(performance.now()));
    context = new AudioContext(); context.decodeAudioData(wav(5)).then((buffer) => {
      length = buffer.duration; source = new AudioBufferSourceNode(context, { buffer, playbackRate: 2 }); source.onended = () => at("source"); source.start(0, 1); });
    music = new Audio(URL.createObjectURL(new Blob([wav(0.5)]))); music.onended = () => at("music"); music.play();`);
  await expect.poll(() => clock.numLoading).toBe(0);
  await turns(0);
  for (let i = 0; i < 15; i++) clock.tick();
  expect(run("[length, music.duration, music.currentTime, music.paused, music.ended]")).toEqual([
    5,
    0.5,
    0.25,
    false,
    false,
  ]);
  for (let i = 0; i < 120; i++) clock.tick();
  expect(run("[said.join(), music.currentTime, music.paused, music.ended]")).toEqual([
    "music 500,source 2000",
    0.5,
    true,
    true,
  ]);
});

test("nodes are the browser's own: made by constructors, checked, and rendered where a page renders them", async () => {
  const { run, clock } = heldPage();
  expect(
    run(`context = new AudioContext(); gain = new GainNode(context, { gain: 0.5 }); analyser = new AnalyserNode(context, { fftSize: 256 });
      buffer = new AudioBuffer({ length: 4, sampleRate: 44100 }); buffer.getChannelData(0)[0] = 0.5;
      [gain.gain.value, gain.connect(analyser) === analyser, analyser.frequencyBinCount, buffer.getChannelData(0)[0], context instanceof AudioContext,
        context instanceof BaseAudioContext, context.getOutputTimestamp().contextTime, gain.context === context]`),
  ).toEqual([0.5, true, 128, 0.5, true, true, 0, true]);
  expect(() => run("new GainNode({})")).toThrow(/not of type 'BaseAudioContext'/);
  run(`context.audioWorklet.addModule("x.js").then(() => { worklet = new AudioWorkletNode(context, "x"); worklet.port.postMessage(1); worklet.connect(gain);
      ready = worklet.parameters.get("level").value = 2; }).catch((error) => { ready = String(error); });
    offline = new OfflineAudioContext(1, 100, 44100); one = new ConstantSourceNode(offline, { offset: 0.25 }); one.connect(offline.destination); one.start();
    offline.startRendering().then((rendered) => { sample = rendered.getChannelData(0)[50]; });`);
  await expect.poll(() => clock.numLoading).toBe(0);
  await turns(0);
  expect(run("[ready, sample]")).toEqual([2, 0.25]);
});

test("music that plays on does not keep a page alive whose game has stopped", async () => {
  const { run, clock } = heldPage();
  run(`music = new Audio(); music.loop = true; music.play(); said = 0; music.ontimeupdate = () => said++`);
  for (let i = 0; i < 40; i++) clock.tick();
  expect([clock.isIdle, Number(run("said")) > 1]).toEqual([true, true]);
  run("setTimeout(() => 0, 1e6)");
  expect(clock.isIdle).toBe(false);
});
