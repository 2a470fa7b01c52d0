/** Drag and drop, as Chromium does it with a mouse: the data can be written where it begins and read where it ends. */

type Page = Window & typeof globalThis;
type Dispatch = (target: EventTarget, event: Event) => boolean;

/** What is done where the source allows several. */
const EFFECTS = ["move", "copy", "link"];

/** Whether a mouse that moves with its button down takes `element` along. */
export function isDraggable(window: Page, element: Element): boolean {
  const { webkitUserDrag } = window.getComputedStyle(element) as { webkitUserDrag?: string };
  return webkitUserDrag === "auto" || webkitUserDrag === undefined
    ? (element as HTMLElement).draggable === true
    : webkitUserDrag === "element";
}

export class Drag {
  readonly #window: Page;
  readonly #source: Element;
  readonly #dispatch: Dispatch;
  readonly #transfer: DataTransfer;
  #allowed = "uninitialized";
  #effect = "none";
  /** Whether the page may see the data, and write it. */
  #isOpen = true;
  #isAtTarget = false;
  #over: Element | null = null;

  constructor(window: Page, source: Element, dispatch: Dispatch) {
    this.#window = window;
    this.#source = source;
    this.#dispatch = dispatch;
    this.#transfer = new window.DataTransfer();
    const own = this.#transfer;
    const address = (source as HTMLAnchorElement).href ?? (source as HTMLImageElement).currentSrc;
    if (typeof address === "string") own.setData("text/uri-list", address);
    // One that a script makes names no effects and hides nothing.
    const { getData, setData, clearData } = own;
    Object.defineProperties(own, {
      effectAllowed: {
        get: () => (this.#isAtTarget && this.#allowed === "uninitialized" ? "all" : this.#allowed),
        set: (to) => {
          if (this.#isOpen) this.#allowed = String(to);
        },
      },
      dropEffect: {
        get: () => this.#effect,
        set: (to) => {
          this.#effect = String(to);
        },
      },
      getData: { value: (type: string) => (this.#isOpen ? getData.call(own, type) : "") },
      setData: { value: (type: string, data: string) => this.#isOpen && setData.call(own, type, data) },
      clearData: { value: (type?: string) => this.#isOpen && clearData.call(own, type) },
    });
  }

  /** @returns whether the page lets it begin. */
  begin(how: MouseEventInit): boolean {
    const isFree = this.#say("dragstart", this.#source, how);
    this.#isOpen = false;
    return isFree;
  }

  move(target: Element, how: MouseEventInit): void {
    this.#effect = "none";
    this.#say("drag", this.#source, how);
    const before = this.#over;
    if (target === before) {
      this.#ask("dragover", target, how);
      return;
    }
    this.#over = target;
    this.#ask("dragenter", target, { ...how, relatedTarget: before });
    if (before?.isConnected) this.#leave(before, { ...how, relatedTarget: target });
  }

  drop(target: Element, how: MouseEventInit): void {
    if (target !== this.#over) this.move(target, how);
    const effect = this.#ask("dragover", target, how);
    if (effect === "none") this.#leave(target, how);
    else {
      this.#isOpen = true;
      this.#effect = effect;
      this.#say("drop", target, how);
      this.#isOpen = false;
    }
    this.#effect = effect;
    this.#say("dragend", this.#source, { ...how, cancelable: false });
  }

  #leave(target: Element, how: MouseEventInit): void {
    this.#effect = "none";
    this.#say("dragleave", target, { ...how, cancelable: false });
  }

  /** @returns what would be done on `target`: "none" where the page does not say by preventing the event that it takes it. */
  #ask(type: string, target: Element, how: MouseEventInit): string {
    const isAny = /^(?:all|uninitialized)$/.test(this.#allowed);
    const allows = (effect: string): boolean => isAny || this.#allowed.toLowerCase().includes(effect);
    this.#effect = isAny ? "copy" : (EFFECTS.find(allows) ?? "none");
    if (this.#say(type, target, how) || !allows(this.#effect)) return "none";
    return this.#effect;
  }

  #say(type: string, target: Element, how: MouseEventInit): boolean {
    this.#isAtTarget = !/^drag(?:start|end)?$/.test(type);
    const more = { ...how, buttons: 0, dataTransfer: this.#transfer };
    return this.#dispatch(target, new this.#window.DragEvent(type, more));
  }
}
