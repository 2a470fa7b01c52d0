/** What the browser does in a turn of its own: time stands still until it has, so that it falls into the same tick each time. */

import type { Loading } from "./loading.ts";
import { define } from "./overriding.ts";
import type { VirtualTime } from "./time.ts";

type Page = Window & typeof globalThis;
type Methods = Record<string, ((...args: unknown[]) => unknown) | undefined>;

/** Functions whose promises the browser settles when it comes to it, by class. */
const PROMISING: Readonly<Record<string, readonly string[]>> = {
  Blob: ["arrayBuffer", "text", "bytes"],
  Clipboard: ["readText", "writeText"],
  FontFace: ["load"],
  FontFaceSet: ["load"],
  HTMLImageElement: ["decode"],
  MediaDevices: ["enumerateDevices"],
  OfflineAudioContext: ["startRendering"],
  OffscreenCanvas: ["convertToBlob"],
  Response: ["arrayBuffer", "blob", "json", "text", "bytes", "formData"],
  StorageManager: ["estimate", "persist", "persisted"],
  SubtleCrypto: [
    ...["decrypt", "deriveBits", "deriveKey", "digest", "encrypt", "exportKey", "generateKey"],
    ...["importKey", "sign", "unwrapKey", "verify", "wrapKey"],
  ],
};
const isOpen = (one: object): unknown => (one as HTMLDialogElement).open;
const isShown = (one: object): unknown => (one as Element).matches(":popover-open");
const readState = (one: object): unknown => (one as FileReader).readyState;
/** Functions after which an event comes, where they change a state. */
const EVENT_AFTER: readonly (readonly [
  owner: string,
  method: string,
  event: string,
  stateOf: (one: object) => unknown,
])[] = [
  ["HTMLDialogElement", "close", "close", isOpen],
  ["HTMLDialogElement", "requestClose", "close", isOpen],
  ["HTMLElement", "showPopover", "toggle", isShown],
  ["HTMLElement", "hidePopover", "toggle", isShown],
  ["FileReader", "readAsArrayBuffer", "loadend", readState],
  ["FileReader", "readAsBinaryString", "loadend", readState],
  ["FileReader", "readAsDataURL", "loadend", readState],
  ["FileReader", "readAsText", "loadend", readState],
];
/** Where requests of a database are made: what they answer is an `IDBRequest`. */
const REQUESTING: Readonly<Record<string, readonly string[]>> = {
  IDBFactory: ["open", "deleteDatabase"],
  IDBObjectStore: [
    "add",
    "put",
    "get",
    "getKey",
    "getAll",
    "getAllKeys",
    "delete",
    "clear",
    "count",
    "openCursor",
    "openKeyCursor",
  ],
  IDBIndex: ["get", "getKey", "getAll", "getAllKeys", "count", "openCursor", "openKeyCursor"],
};

export function holdOwnTurns(window: Page, time: VirtualTime, loading: Loading): void {
  const classes = window as unknown as Record<string, { prototype: Methods } | undefined>;
  const wrap = (owner: string, name: string, around: (own: () => unknown, self: object) => unknown): void => {
    const prototype = classes[owner]?.prototype;
    const own = prototype?.[name];
    if (prototype === undefined || own === undefined) return;
    define(prototype, name, function (this: object, ...args: unknown[]) {
      return around(() => own.apply(this, args), this);
    });
  };
  for (const [owner, names] of Object.entries(PROMISING))
    for (const name of names)
      wrap(owner, name, (own) => loading.until(own() as Promise<unknown>, `${name}()`));
  const until = (target: EventTarget, name: string, ...events: string[]): void => {
    const key = {};
    const done = (): void => loading.end(key);
    loading.begin(key, name);
    for (const event of events) target.addEventListener(event, done, { once: true });
  };
  for (const [owner, name, event, stateOf] of EVENT_AFTER)
    wrap(owner, name, (own, self) => {
      const before = stateOf(self);
      const answer = own();
      if (stateOf(self) !== before)
        until(self as EventTarget, `${name}()`, event, ...(event === "loadend" ? [] : ["cancel"]));
      return answer;
    });
  for (const [owner, names] of Object.entries(REQUESTING))
    for (const name of names)
      wrap(owner, name, (own) => {
        const request = own() as IDBRequest;
        until(request, `${owner}.${name}()`, "success", "error", "blocked");
        return request;
      });
  wrap("IDBDatabase", "transaction", (own) => {
    const transaction = own() as IDBTransaction;
    until(transaction, "a transaction", "complete", "abort", "error");
    return transaction;
  });
  for (const name of ["advance", "continue", "continuePrimaryKey"])
    wrap("IDBCursor", name, (own, self) => {
      const answer = own();
      until((self as IDBCursor).request, `${name}()`, "success", "error");
      return answer;
    });
  const { toBlob } = window.HTMLCanvasElement.prototype;
  define(
    window.HTMLCanvasElement.prototype,
    "toBlob",
    function (this: HTMLCanvasElement, callback: BlobCallback, ...how: []) {
      const key = {};
      toBlob.call(
        this,
        (blob) => {
          loading.end(key);
          time.post(callback, 0, [blob]);
        },
        ...how,
      );
      loading.begin(key, "toBlob()");
    },
  );
  holdHistory(window, loading);
  settleAtOnce(window, time);
}

/** As far as it is needed of the Navigation API, which not every browser has. */
interface NavigateEventLike extends Event {
  readonly navigationType: string;
  readonly hashChange: boolean;
  readonly destination: { readonly url: string; readonly sameDocument: boolean };
}

interface NavigationLike {
  readonly currentEntry: { readonly index: number } | null;
  entries(): readonly object[];
  addEventListener(type: "navigate", listener: (event: NavigateEventLike) => void): void;
}

/** `hashchange` and `popstate` come some turns after what causes them. */
function holdHistory(window: Page, loading: Loading): void {
  const { navigation } = window as unknown as { navigation?: NavigationLike };
  const waiting: Record<string, object[]> = { hashchange: [], popstate: [] };
  navigation?.addEventListener("navigate", (event) => {
    const { navigationType, hashChange, destination } = event as NavigateEventLike;
    const isOther = destination.url !== window.location.href;
    const name = hashChange && isOther ? "hashchange" : navigationType === "traverse" ? "popstate" : null;
    if (name === null || !destination.sameDocument) return;
    const key = {};
    waiting[name].push(key);
    loading.begin(key, name);
  });
  for (const [name, keys] of Object.entries(waiting))
    window.addEventListener(name, () => loading.end(keys.shift() ?? keys));
  // Going back or forth begins in such a turn as well, where there is an entry to go to.
  const going: object[] = [];
  navigation?.addEventListener("navigate", ({ navigationType }: NavigateEventLike) => {
    if (navigationType !== "traverse") return;
    loading.end(going.shift() ?? going);
    if (going.length === 0) ahead = 0;
  });
  let ahead = 0;
  for (const [name, step] of Object.entries({ back: -1, forward: 1, go: 0 })) {
    const own = window.History.prototype[name as "go"];
    define(window.History.prototype, name, function (this: History, delta = 0) {
      own.call(this, delta);
      const by = step || Number(delta) || 0;
      const index = navigation?.currentEntry?.index ?? -1;
      if (by === 0 || navigation?.entries()[index + ahead + by] === undefined) return;
      const key = {};
      going.push(key);
      ahead += by;
      loading.begin(key, `history.${name}()`);
    });
  }
}

/** What a browser draws on the way is there at once: scrolling and transitions of the whole view. */
function settleAtOnce(window: Page, time: VirtualTime): void {
  for (const prototype of [window, window.Element.prototype])
    for (const name of ["scroll", "scrollTo", "scrollBy", "scrollIntoView"]) {
      const own = (prototype as unknown as Methods)[name];
      if (own === undefined) continue;
      define(prototype, name, function (this: unknown, ...args: unknown[]) {
        const [given] = args;
        const isOptions = typeof given === "object" && given !== null;
        own.apply(this ?? window, isOptions ? [{ ...given, behavior: "instant" }] : args);
        const target = this === undefined || this === window ? window.document : (this as Element);
        time.post(() =>
          target.dispatchEvent(new window.Event("scrollend", { bubbles: target === window.document })),
        );
      });
    }
  if ("startViewTransition" in window.Document.prototype)
    define(
      window.Document.prototype,
      "startViewTransition",
      (given?: (() => unknown) | { update?: () => unknown }) => {
        const update = typeof given === "function" ? given : given?.update;
        const updated = new window.Promise<void>((resolve, reject) => {
          const change = async (): Promise<void> => void (await update?.());
          time.post(() => void change().then(resolve, reject));
        });
        return {
          updateCallbackDone: updated,
          ready: updated,
          finished: updated,
          skipTransition: () => undefined,
          types: new Set(),
        };
      },
    );
}
