/** What closes a dialog or a popover in front without a word of the page: Escape, and a press beside it. */

type Page = Window & typeof globalThis;
type Dispatch = (target: EventTarget, event: Event) => boolean;

const POPOVERS = ":is([popover=''], [popover=auto], [popover=hint]):popover-open";

export class Dismissal {
  readonly #window: Page;
  readonly #dispatch: Dispatch;

  constructor(window: Page, dispatch: Dispatch) {
    this.#window = window;
    this.#dispatch = dispatch;
  }

  /** As Escape does. */
  escape(): void {
    const popover = this.#all<HTMLElement>(POPOVERS).at(-1);
    if (popover !== undefined) {
      popover.hidePopover();
      return;
    }
    const dialog = this.#all<HTMLDialogElement>("dialog[open]").findLast(
      (one) => one.matches(":modal") || /^(any|closerequest)$/i.test(one.getAttribute("closedby") ?? ""),
    );
    if (dialog !== undefined && dialog.getAttribute("closedby")?.toLowerCase() !== "none") this.#ask(dialog);
  }

  /** As a press does that went down on `from` and up on `to`, at that place of the window. */
  press(from: Element, to: Element, [x, y]: readonly [number, number]): void {
    for (const popover of this.#all<HTMLElement>(POPOVERS).reverse()) {
      if (isOf(popover, from) || isOf(popover, to)) break;
      popover.hidePopover();
    }
    const dialog = this.#all<HTMLDialogElement>("dialog[open][closedby=any i]").at(-1);
    if (dialog === undefined || (from !== dialog && dialog.contains(from))) return;
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    if (x < left || x >= right || y < top || y >= bottom) this.#ask(dialog);
  }

  #ask(dialog: HTMLDialogElement): void {
    const cancel = new this.#window.Event("cancel", { cancelable: true });
    if (this.#dispatch(dialog, cancel)) dialog.close();
  }

  #all<T extends Element>(selector: string): T[] {
    return [...this.#window.document.querySelectorAll<T>(selector)];
  }
}

/** Whether `element` lies in the popover, in what opens it, or in another one that was opened from within it. */
function isOf(popover: HTMLElement, element: Element): boolean {
  if (popover.contains(element)) return true;
  const opener = element.closest("[popovertarget]")?.getAttribute("popovertarget");
  if (opener !== null && opener === popover.id) return true;
  const inner = element.closest<HTMLElement>("[popover]");
  const from = inner === null ? null : popover.querySelector(`[popovertarget="${inner.id}"]`);
  return from !== null;
}
