/** The SDKs of game portals, as far as a game needs them: they answer at once, show no advertisement, and note what the game says. */

import { define, defineProperty } from "./overriding.ts";

type Page = Window & typeof globalThis;

/** What a game reported to a portal; read by adapters as `portal(w)`. */
export interface PortalSignals {
  /** Name of the SDK that the game requested; null: none so far. */
  name: string | null;
  /** Between the start and the stop of play. */
  isPlaying: boolean;
  starts: number;
  stops: number;
  /** The newest score that it sent; null: none yet. */
  score: number | null;
  /** Moments of success that it reported. */
  happyTimes: number;
}

export interface Portals {
  readonly signals: PortalSignals;
  /** Puts the SDK of this address into the page; false where it is no portal's. */
  install(url: unknown): boolean;
  /** No score has been sent: another game begins. */
  forget(): void;
}

type Sdk = Record<string, unknown>;

/** What portals' own scripts leave in a page, as far as it is used here. */
export interface PortalWindow {
  PokiSDK?: Sdk;
  CrazyGames?: { SDK?: { game?: Sdk; user?: Sdk } };
  ytgame?: { game?: Sdk; engagement?: Sdk };
  attractPortal?: PortalSignals;
}
type Callback = (...args: unknown[]) => void;

/** Notes what a game says. */
class Listener {
  readonly signals: PortalSignals = {
    name: null,
    isPlaying: false,
    starts: 0,
    stops: 0,
    score: null,
    happyTimes: 0,
  };

  readonly start = (): void => {
    this.signals.isPlaying = true;
    this.signals.starts++;
  };

  readonly stop = (): void => {
    if (this.signals.isPlaying) this.signals.stops++;
    this.signals.isPlaying = false;
  };

  readonly happy = (): void => {
    this.signals.happyTimes++;
  };

  readonly scored = (message: unknown): void => {
    const { value, score } = (message ?? {}) as { value?: unknown; score?: unknown };
    const number = Number(value ?? score ?? message);
    if (Number.isFinite(number)) this.signals.score = number;
  };
}

/** Hears what the game in `window` tells the portals whose SDKs it has, from now on. */
export function followPortals(window: PortalWindow): PortalSignals {
  const { signals, start, stop, happy, scored } = new Listener();
  const { PokiSDK: poki, CrazyGames: crazy, ytgame: playables } = window;
  const listened: readonly [string, Sdk | undefined, Record<string, (value: unknown) => void>][] = [
    ["poki", poki, { gameplayStart: start, gameplayStop: stop, happyTime: happy }],
    ["crazygames", crazy?.SDK?.game, { gameplayStart: start, gameplayStop: stop, happytime: happy }],
    ["crazygames", crazy?.SDK?.user, { submitScore: scored }],
    ["youtube", playables?.game, { gameReady: start }],
    ["youtube", playables?.engagement, { sendScore: scored }],
  ];
  for (const [name, sdk, heard] of listened) {
    if (sdk === undefined) continue;
    signals.name = name;
    for (const [method, hear] of Object.entries(heard)) {
      const original = sdk[method];
      if (typeof original !== "function") continue;
      define(sdk, method, function (this: unknown, ...args: unknown[]) {
        hear(args[0]);
        return original.apply(this, args) as unknown;
      });
    }
  }
  window.attractPortal = signals;
  return signals;
}

/** @param later calls back once what the page does now is done. */
export function installPortals(window: Page, later: (call: () => void) => void): Portals {
  const { signals, start, stop, happy, scored } = new Listener();
  const makers: Record<string, readonly [pattern: RegExp, make: () => void]> = {
    poki: [
      /\/poki-sdk\b|\bpoki\.com\/.*sdk/,
      () =>
        define(
          window,
          "PokiSDK",
          obliging(window, {
            rewardedBreak: async () => false,
            shareableURL: async () => "",
            isAdBlocked: () => false,
            getURLParam: () => "",
            getLanguage: () => "en",
            gameplayStart: start,
            gameplayStop: stop,
            happyTime: happy,
          }),
        ),
    ],
    crazygames: [
      /\bcrazygames\.com\/crazygames-sdk/,
      () => define(window, "CrazyGames", { SDK: crazyGames() }),
    ],
    youtube: [/\byoutube\.com\/game_api/, () => define(window, "ytgame", playables())],
    gamedistribution: [/\bgamedistribution\.com\/main/, () => define(window, "gdsdk", gameDistribution())],
  };

  function crazyGames(): Sdk {
    return obliging(window, {
      environment: "local",
      isQaTool: false,
      game: obliging(window, {
        settings: { disableChat: true, muteAudio: true },
        gameplayStart: start,
        gameplayStop: stop,
        happytime: happy,
      }),
      ad: obliging(window, {
        hasAdblock: async () => false,
        // Nothing is shown: what an advertisement would have been the price of is not given.
        requestAd: async (kind: unknown, calls?: Partial<Record<string, Callback>>) =>
          later(() => (kind === "rewarded" ? calls?.adError : calls?.adFinished)?.()),
      }),
      banner: obliging(window, {}),
      user: obliging(window, {
        isUserAccountAvailable: false,
        systemInfo: { countryCode: "US", device: { type: "desktop" } },
        getUser: async () => null,
        submitScore: async (score: unknown) => scored(score),
      }),
      data: {
        getItem: (key: string) => window.localStorage.getItem(key),
        setItem: (key: string, value: string) => window.localStorage.setItem(key, value),
        removeItem: (key: string) => window.localStorage.removeItem(key),
        clear: () => window.localStorage.clear(),
      },
    });
  }

  function playables(): Sdk {
    const unheard = (): (() => void) => () => undefined;
    return {
      SDK_VERSION: "1",
      IN_PLAYABLES_ENV: true,
      game: obliging(window, {
        loadData: async () => "",
        gameReady: start,
      }),
      engagement: obliging(window, {
        sendScore: async (score: unknown) => scored(score),
      }),
      ads: obliging(window, {}),
      health: obliging(window, {}),
      system: {
        getLanguage: async () => "en",
        isAudioEnabled: () => true,
        onAudioEnabledChange: unheard,
        onPause: unheard,
        onResume: unheard,
      },
    };
  }

  function gameDistribution(): Sdk {
    const announce = (name: string): void =>
      later(() =>
        (window as unknown as { GD_OPTIONS?: { onEvent?: Callback } }).GD_OPTIONS?.onEvent?.({ name }),
      );
    announce("SDK_READY");
    return {
      AdType: { Interstitial: "interstitial", Rewarded: "rewarded", Display: "display" },
      showAd: async () => {
        stop();
        announce("SDK_GAME_START");
        start();
      },
    };
  }

  // Where adapters look for it.
  defineProperty(window, "attractPortal", { value: signals, configurable: true });
  const install = (url: unknown): boolean => {
    const found = Object.entries(makers).find(([, [pattern]]) => pattern.test(String(url)));
    if (found === undefined) return false;
    const [name, [, make]] = found;
    if (signals.name !== name) make();
    signals.name = name;
    return true;
  };
  defineProperty(window, "attractInstallPortal", { value: install, configurable: true });
  const forget = (): void => {
    signals.score = null;
  };
  return { signals, install, forget };
}

/** An object with these functions, and with any other that is asked for: those do nothing, and are done at once. */
function obliging(window: Page, known: Sdk): Sdk {
  const nothing = (): Promise<unknown> => window.Promise.resolve();
  return new Proxy(known, {
    get: (target, name) =>
      name in target || typeof name !== "string" || name === "then" ? Reflect.get(target, name) : nothing,
  });
}
