/** Silent sound on virtual time: contexts run, buffers end when they would, elements play at once. */

import { define, defineGetter, defineProperty } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;

const PARAMETERS = [
  "attack",
  "delayTime",
  "detune",
  "frequency",
  "gain",
  "knee",
  "offset",
  "orientationX",
  "orientationY",
  "orientationZ",
  "pan",
  "playbackRate",
  "positionX",
  "positionY",
  "positionZ",
  "Q",
  "ratio",
  "reduction",
  "release",
  "threshold",
];
const PARAMETER_METHODS = [
  "setValueAtTime",
  "linearRampToValueAtTime",
  "exponentialRampToValueAtTime",
  "setTargetAtTime",
  "setValueCurveAtTime",
  "cancelScheduledValues",
  "cancelAndHoldAtTime",
];
const NODES = [
  "Analyser",
  "BiquadFilter",
  "BufferSource",
  "ChannelMerger",
  "ChannelSplitter",
  "ConstantSource",
  "Convolver",
  "Delay",
  "DynamicsCompressor",
  "Gain",
  "IIRFilter",
  "MediaElementSource",
  "MediaStreamDestination",
  "MediaStreamSource",
  "Oscillator",
  "Panner",
  "ScriptProcessor",
  "StereoPanner",
  "WaveShaper",
];
const SAMPLE_RATE = 44_100;

export function installSound(window: Page, time: VirtualTime): void {
  installContexts(window, time);
  installMedia(window, time);
}

function installContexts(window: Page, time: VirtualTime): void {
  // Some pages put something of their own in its place.
  const { Event } = window;
  class NullParameter {
    value = 1;
    defaultValue = 1;
    minValue = -3.4e38;
    maxValue = 3.4e38;
  }
  for (const name of PARAMETER_METHODS)
    define(NullParameter.prototype, name, function (this: NullParameter) {
      return this;
    });

  class NullBuffer {
    readonly numberOfChannels: number;
    readonly length: number;
    readonly sampleRate: number;
    constructor(channels = 2, length = SAMPLE_RATE, rate = SAMPLE_RATE) {
      this.numberOfChannels = channels;
      this.length = length;
      this.sampleRate = rate;
    }
    get duration(): number {
      return this.length / this.sampleRate;
    }
    getChannelData(): Float32Array {
      return new Float32Array(this.length);
    }
    copyToChannel(): void {}
    copyFromChannel(): void {}
  }

  class NullNode extends window.EventTarget {
    readonly context: unknown;
    buffer: NullBuffer | null = null;
    loop = false;
    onended: EventListener | null = null;
    #ending = 0;
    constructor(context: unknown) {
      super();
      this.context = context;
      for (const name of PARAMETERS) define(this, name, new NullParameter());
    }
    connect(to: unknown): unknown {
      return to;
    }
    disconnect(): void {}
    start(when = 0, offset = 0, duration?: number): void {
      if (this.loop) return;
      const seconds = duration ?? Math.max(0, (this.buffer?.duration ?? 0) - offset);
      if (this.buffer !== null || duration !== undefined)
        this.#endIn(Math.max(0, when - time.now / 1000) + seconds);
    }
    stop(when = 0): void {
      this.#endIn(Math.max(0, when - time.now / 1000));
    }
    #endIn(seconds: number): void {
      time.remove(this.#ending);
      const end = (): void => {
        const event = new Event("ended");
        if (this.onended !== null) time.call(this.onended, [event], this);
        this.dispatchEvent(event);
      };
      this.#ending = time.add(end, seconds * 1000, [], false, false);
    }
  }
  for (const name of [
    "setPosition",
    "setOrientation",
    "getByteFrequencyData",
    "getByteTimeDomainData",
    "getFloatFrequencyData",
    "getFloatTimeDomainData",
    "setPeriodicWave",
  ])
    define(NullNode.prototype, name, () => undefined);

  class NullContext extends window.EventTarget {
    state = "running";
    readonly sampleRate = SAMPLE_RATE;
    readonly baseLatency = 0;
    readonly outputLatency = 0;
    readonly destination = new NullNode(this);
    readonly listener = new NullNode(this);
    readonly audioWorklet = { addModule: async () => undefined };
    get currentTime(): number {
      return time.now / 1000;
    }
    async resume(): Promise<void> {
      this.state = "running";
    }
    async suspend(): Promise<void> {
      this.state = "suspended";
    }
    async close(): Promise<void> {
      this.state = "closed";
    }
    createBuffer(channels: number, length: number, rate: number): NullBuffer {
      return new NullBuffer(channels, length, rate);
    }
    createPeriodicWave(): object {
      return {};
    }
    async decodeAudioData(_data: ArrayBuffer, done?: (buffer: NullBuffer) => void): Promise<NullBuffer> {
      const buffer = new NullBuffer();
      if (done !== undefined) time.add(done, 0, [buffer], false, false);
      return buffer;
    }
  }
  for (const name of NODES)
    define(NullContext.prototype, `create${name}`, function (this: NullContext) {
      return new NullNode(this);
    });
  for (const name of ["AudioContext", "webkitAudioContext", "OfflineAudioContext"])
    define(window, name, NullContext);
}

function installMedia(window: Page, time: VirtualTime): void {
  // Some pages put something of their own in its place.
  const { Event } = window;
  const media = window.HTMLMediaElement.prototype;
  const sources = new WeakMap<object, string>();
  const paused = new WeakMap<object, boolean>();
  const dispatch = (element: HTMLMediaElement, ...names: string[]): void => {
    const send = (): void => {
      for (const name of names) element.dispatchEvent(new Event(name));
    };
    time.add(send, 0, [], false, false);
  };
  define(media, "play", function (this: HTMLMediaElement) {
    paused.set(this, false);
    dispatch(this, "play", "playing");
    return Promise.resolve();
  });
  define(media, "pause", function (this: HTMLMediaElement) {
    if (paused.get(this) === false) dispatch(this, "pause");
    paused.set(this, true);
  });
  define(media, "load", function (this: HTMLMediaElement) {
    dispatch(this, "loadedmetadata", "loadeddata", "canplay", "canplaythrough");
  });
  defineGetter(media, "paused", function (this: HTMLMediaElement) {
    return paused.get(this) ?? true;
  });
  defineGetter(media, "readyState", () => 4);
  defineGetter(media, "duration", () => 1);
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
      return sources.get(this) ?? "";
    },
    set(this: HTMLMediaElement, value: unknown) {
      sources.set(this, String(value));
      this.load();
    },
    configurable: true,
    enumerable: true,
  });
}
