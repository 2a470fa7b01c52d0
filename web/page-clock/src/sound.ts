/** Silent sound on virtual time: the browser's own nodes in a context that is never rendered, and elements that play nothing. */

import type { Loading } from "./loading.ts";
import { define, defineGetter, defineProperty, makerOf } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

const SAMPLE_RATE = 44_100;
/** Seconds from a context to the ear, by what was asked for, and at most. */
const LATENCIES: Readonly<Record<string, number>> = { interactive: 0.01, balanced: 0.025, playback: 0.1 };
const MAX_LATENCY = 8192 / SAMPLE_RATE;
/** Where `timeupdate` comes while an element plays, in ms. */
const UPDATE_MS = 250;

/** What is known of a sound once one page has decoded it: others of the same server need not. */
interface Length {
  readonly channels: number;
  readonly samples: number;
  readonly rate: number;
}

/** By address, or by size and some bytes; null: it is no sound. */
type Lengths = Map<string, Length | null>;

export function installSound(window: Page, time: VirtualTime, loading: Loading): void {
  const lengths = lengthsOf(window);
  const { OfflineAudioContext } = window;
  const { decodeAudioData } = OfflineAudioContext.prototype;
  const decode = async (data: ArrayBuffer, key: string): Promise<AudioBuffer | null> => {
    const known = lengths.get(key);
    if (known === null) return null;
    if (known !== undefined) {
      const { channels: numberOfChannels, samples: length, rate: sampleRate } = known;
      return new window.AudioBuffer({ numberOfChannels, length, sampleRate });
    }
    const asking = new OfflineAudioContext(1, 1, SAMPLE_RATE);
    const decoded = await decodeAudioData.call(asking, data).catch(() => null);
    if (decoded === null) lengths.set(key, null);
    else
      lengths.set(key, {
        channels: decoded.numberOfChannels,
        samples: decoded.length,
        rate: decoded.sampleRate,
      });
    return decoded;
  };
  installContexts(window, time, loading, decode);
  installMedia(window, time, loading, async (address) => {
    const known = lengths.get(address);
    if (known !== undefined) return known === null ? null : known.samples / known.rate;
    const response = await window.fetch(address);
    if (!response.ok) return null;
    return (await decode(await response.arrayBuffer(), address))?.duration ?? null;
  });
}

/** What all pages in the document that holds this one have decoded. */
function lengthsOf(window: Page): Lengths {
  const holder = window.parent as unknown as { attractSounds?: Lengths };
  holder.attractSounds ??= new Map();
  return holder.attractSounds;
}

function installContexts(
  window: Page,
  time: VirtualTime,
  loading: Loading,
  decode: (data: ArrayBuffer, key: string) => Promise<AudioBuffer | null>,
): void {
  // Some pages put something of their own in its place.
  const { Event, OfflineAudioContext, AudioContext, AudioBuffer, GainNode } = window;
  const { ConstantSourceNode, DOMException } = window;
  const seconds = (): number => time.now / 1000;
  const states = new WeakMap<object, AudioContextState>();
  const latencies = new WeakMap<object, number>();
  const context = function (options?: AudioContextOptions): AudioContext {
    if (new.target === undefined) throw new window.TypeError("Please use the 'new' operator");
    const hint = options?.latencyHint ?? "interactive";
    const latency = typeof hint === "number" ? hint : LATENCIES[hint];
    if (latency === undefined || (options !== undefined && typeof options !== "object"))
      throw new window.TypeError("The provided value is not of type 'AudioContextOptions'.");
    const made = new OfflineAudioContext(2, 1, options?.sampleRate ?? SAMPLE_RATE) as unknown as AudioContext;
    Object.setPrototypeOf(made, new.target.prototype);
    states.set(made, "running");
    latencies.set(made, Math.min(Math.max(latency, LATENCIES.interactive), MAX_LATENCY));
    return made;
  };
  // Its methods ask for a context of the browser's own that is heard.
  const { prototype } = AudioContext;
  const become = function (this: AudioContext, state: AudioContextState): Promise<void> {
    if (states.get(this) === "closed")
      return Promise.reject(new DOMException("Cannot change a closed AudioContext.", "InvalidStateError"));
    if (states.get(this) !== state) time.post(() => this.dispatchEvent(new Event("statechange")));
    states.set(this, state);
    return Promise.resolve();
  };
  for (const [name, state] of [
    ["resume", "running"],
    ["suspend", "suspended"],
    ["close", "closed"],
  ] as const)
    define(prototype, name, function (this: AudioContext) {
      return become.call(this, state);
    });
  for (const name of ["outputLatency", "playbackStats"]) defineGetter(prototype, name, () => 0);
  defineGetter(prototype, "baseLatency", function () {
    return latencies.get(this);
  });
  defineGetter(prototype, "sinkId", () => "");
  define(prototype, "setSinkId", async () => undefined);
  define(prototype, "getOutputTimestamp", () => ({ contextTime: seconds(), performanceTime: time.now }));
  for (const [made, field] of [
    ["MediaElementSource", "mediaElement"],
    ["MediaStreamSource", "mediaStream"],
    ["MediaStreamTrackSource", "mediaStreamTrack"],
    ["MediaStreamDestination", "stream"],
  ]) {
    const name = `${made.replace("Source", "AudioSource").replace("Destination", "AudioDestination")}Node`;
    const own = (window as unknown as Record<string, { prototype: object } | undefined>)[name];
    if (own === undefined) continue;
    const make = makerOf<object>(own.prototype);
    const node = (within: BaseAudioContext, options: Record<string, unknown> = {}): object =>
      make({ [field]: options[field] ?? new window.MediaStream() }, new GainNode(within));
    define(window, name, Object.assign(node, { prototype: own.prototype }));
    if (`create${made}` in prototype)
      define(prototype, `create${made}`, function (this: AudioContext, source: unknown) {
        return node(this, { [field]: source });
      });
  }
  const base = Object.getPrototypeOf(prototype) as object;
  const own = (name: string) => Object.getOwnPropertyDescriptor(base, name)?.get as (this: object) => unknown;
  const [currentTime, stateOf] = [own("currentTime"), own("state")];
  defineGetter(base, "currentTime", function () {
    return states.has(this) ? seconds() : currentTime.call(this);
  });
  defineGetter(base, "state", function () {
    return states.get(this) ?? stateOf.call(this);
  });
  define(base, "decodeAudioData", function (this: object, data: ArrayBuffer, done?: DecodeSuccessCallback) {
    const bytes = new Uint8Array(data);
    const some = Array.from({ length: 64 }, (_, i) => bytes[Math.floor((i * bytes.length) / 64)]);
    // A browser without the codec plays on as one that has it.
    const silent = { length: SAMPLE_RATE, sampleRate: SAMPLE_RATE };
    const decoding = decode(data, `${bytes.length} ${some.join(" ")}`).then(
      (buffer) => buffer ?? new AudioBuffer(silent),
    );
    loading.until(decoding, "decodeAudioData()");
    if (done !== undefined) decoding.then((buffer) => time.post(done, 0, [buffer]));
    return decoding;
  });
  const AudioContexts = Object.assign(context, { prototype });
  for (const name of ["AudioContext", "webkitAudioContext"])
    if (name in window) define(window, name, AudioContexts);
  installSources(window, time, states);
  // A page of a plain address in the network has none.
  if (!("AudioWorklet" in window)) return;
  const { AudioWorkletNode, MessageChannel } = window;
  const make = makerOf(AudioWorkletNode.prototype);
  const worklet = function (within: AudioContext): AudioWorkletNode {
    if (new.target === undefined) throw new window.TypeError("Please use the 'new' operator");
    const parameters = new Map<string, AudioParam>();
    const get = (name: string): AudioParam => {
      const parameter = parameters.get(name) ?? new ConstantSourceNode(within).offset;
      parameters.set(name, parameter);
      return parameter;
    };
    const all = Object.assign(new Map<string, AudioParam>(), { get }) as unknown as AudioParamMap;
    return make({ parameters: all, port: new MessageChannel().port1 }, new GainNode(within));
  };
  define(window, "AudioWorkletNode", Object.assign(worklet, { prototype: AudioWorkletNode.prototype }));
}

/** Sources end when they would no longer be heard. */
function installSources(window: Page, time: VirtualTime, contexts: WeakMap<object, unknown>): void {
  const { Event, AudioBufferSourceNode } = window;
  const ends = new WeakMap<AudioNode, number>();
  const endAt = (node: AudioScheduledSourceNode, at: number): void => {
    time.remove(ends.get(node));
    ends.set(
      node,
      time.post(() => node.dispatchEvent(new Event("ended")), Math.max(0, at * 1000 - time.now)),
    );
  };
  const isHeld = (node: AudioNode): boolean => contexts.has(node.context);
  const { prototype } = window.AudioScheduledSourceNode;
  const { stop } = prototype;
  define(prototype, "stop", function (this: AudioScheduledSourceNode, when = 0) {
    stop.call(this, when);
    if (isHeld(this)) endAt(this, Math.max(when, time.now / 1000));
  });
  const { start } = AudioBufferSourceNode.prototype;
  define(
    AudioBufferSourceNode.prototype,
    "start",
    function (this: AudioBufferSourceNode, ...given: [number?, number?, number?]) {
      start.apply(this, given);
      const [when = 0, offset = 0, duration] = given;
      if (this.loop || !isHeld(this) || (this.buffer === null && duration === undefined)) return;
      const whole = Math.max(0, (this.buffer?.duration ?? 0) - offset);
      const rate = Math.abs(this.playbackRate.value) || 1;
      endAt(
        this,
        Math.max(when, time.now / 1000) +
          Math.min(duration ?? whole, this.buffer === null ? Infinity : whole) / rate,
      );
    },
  );
}

/** How an element plays: from `at` seconds on, since the page's time `since`; null: it stands. */
interface Play {
  at: number;
  since: number | null;
  /** Null until it is known, which begins as it is asked for. */
  duration: number | null;
  isAsked: boolean;
  address: string;
  timer: number;
}

function installMedia(
  window: Page,
  time: VirtualTime,
  loading: Loading,
  durationOf: (address: string) => Promise<number | null>,
): void {
  // Some pages put something of their own in its place.
  const { Event } = window;
  const media = window.HTMLMediaElement.prototype;
  const plays = new WeakMap<HTMLMediaElement, Play>();
  const publish = (element: HTMLMediaElement, ...names: string[]): void => {
    const send = (): void => {
      for (const name of names) element.dispatchEvent(new Event(name));
    };
    time.post(send);
  };
  const written = (element: HTMLMediaElement): string => {
    const address = element.getAttribute("src") ?? element.querySelector("source")?.getAttribute("src") ?? "";
    return address === "" ? "" : new window.URL(address, window.document.baseURI).href;
  };
  const playOf = (element: HTMLMediaElement): Play => {
    const known = plays.get(element) ?? {
      at: 0,
      since: null,
      duration: null,
      isAsked: false,
      address: written(element),
      timer: 0,
    };
    plays.set(element, known);
    return known;
  };
  const timeOf = (element: HTMLMediaElement): number => {
    const play = playOf(element);
    const at =
      play.since === null ? play.at : play.at + ((time.now - play.since) / 1000) * element.playbackRate;
    return Math.min(at, play.duration ?? Infinity);
  };
  const stand = (element: HTMLMediaElement, at: number): void => {
    const play = playOf(element);
    time.remove(play.timer);
    Object.assign(play, { at, since: null });
  };
  const go = (element: HTMLMediaElement): void => {
    const play = playOf(element);
    Object.assign(play, { at: timeOf(element), since: time.now });
    time.remove(play.timer);
    const left = ((play.duration ?? Infinity) - play.at) * (1000 / (element.playbackRate || 1));
    const step = (): void => {
      const at = timeOf(element);
      element.dispatchEvent(new Event("timeupdate"));
      if (at < (play.duration ?? Infinity)) {
        if (play.since !== null) go(element);
        return;
      }
      stand(element, element.loop ? 0 : at);
      if (element.loop) go(element);
      else for (const name of ["pause", "ended"]) element.dispatchEvent(new Event(name));
    };
    play.timer = time.addBackground(step, Math.min(UPDATE_MS, Math.ceil(left)));
  };
  const load = (element: HTMLMediaElement, address: string): void => {
    stand(element, 0);
    const play = playOf(element);
    Object.assign(play, { address, duration: null, isAsked: true });
    if (address === "") return;
    const looked = loading.until(
      durationOf(address).catch(() => null),
      address,
    );
    looked.then((duration) => {
      if (play.address !== address) return;
      // A film without a sound, or what is not to be had, is as long as a short sound.
      play.duration = duration ?? 1;
      publish(
        element,
        "loadstart",
        "durationchange",
        "loadedmetadata",
        "loadeddata",
        "canplay",
        "canplaythrough",
      );
      if (play.since !== null) go(element);
    });
  };
  define(media, "play", function (this: HTMLMediaElement) {
    const play = playOf(this);
    if (!play.isAsked && play.address !== "") load(this, play.address);
    if (play.since === null) {
      if (play.duration !== null && play.at >= play.duration) play.at = 0;
      go(this);
      publish(this, "play", "playing");
    }
    return Promise.resolve();
  });
  define(media, "pause", function (this: HTMLMediaElement) {
    if (playOf(this).since === null) return;
    stand(this, timeOf(this));
    publish(this, "timeupdate", "pause");
  });
  define(media, "load", function (this: HTMLMediaElement) {
    load(this, playOf(this).address || written(this));
  });
  defineGetter(media, "paused", function (this: HTMLMediaElement) {
    return playOf(this).since === null;
  });
  defineGetter(media, "ended", function (this: HTMLMediaElement) {
    const { since, at, duration } = playOf(this);
    return since === null && duration !== null && at >= duration;
  });
  defineGetter(media, "readyState", () => 4);
  defineGetter(media, "duration", function (this: HTMLMediaElement) {
    return playOf(this).duration ?? Number.NaN;
  });
  defineProperty(media, "currentTime", {
    get(this: HTMLMediaElement) {
      return timeOf(this);
    },
    set(this: HTMLMediaElement, value: unknown) {
      const isPlaying = playOf(this).since !== null;
      stand(this, Math.max(0, Number(value) || 0));
      if (isPlaying) go(this);
      publish(this, "seeking", "timeupdate", "seeked");
    },
    configurable: true,
    enumerable: true,
  });
  // The constructor's own source would be loaded, at real times.
  const audio = function (this: unknown, source?: string): HTMLAudioElement {
    const element = window.document.createElement("audio");
    if (source !== undefined) element.src = source;
    return element;
  };
  audio.prototype = window.HTMLAudioElement.prototype;
  define(window, "Audio", audio);
  defineProperty(media, "src", {
    get(this: HTMLMediaElement) {
      return playOf(this).address;
    },
    set(this: HTMLMediaElement, value: unknown) {
      const address = String(value);
      load(this, address === "" ? "" : new window.URL(address, window.document.baseURI).href);
    },
    configurable: true,
    enumerable: true,
  });
}
