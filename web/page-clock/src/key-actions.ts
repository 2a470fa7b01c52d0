/** What keys do by themselves where the page lets them: they write, press buttons, send forms, choose and move the focus. */

import type { Dismissal } from "./dismissal.ts";
import type { Focus } from "./focus.ts";

type Page = Window & typeof globalThis;
type Field = HTMLInputElement | HTMLTextAreaElement;

const TEXT_FIELDS =
  "textarea, input:not([type]), input:is([type=''], [type=text], [type=search], [type=email], [type=url], [type=tel], [type=password], [type=number])";
const ACTIVATED =
  "button, summary, a[href], input:is([type=button], [type=submit], [type=reset], [type=image])";
const TOGGLED = "input:is([type=checkbox], [type=radio])";

export class KeyActions {
  readonly #window: Page;
  readonly #focus: Focus;
  readonly #dispatch: (target: EventTarget, event: Event) => void;
  readonly #dismissal: Dismissal;
  /** What a field held when it got the focus or was changed last. */
  readonly #known = new WeakMap<Element, string>();

  constructor(
    window: Page,
    focus: Focus,
    dispatch: (target: EventTarget, event: Event) => void,
    dismissal: Dismissal,
  ) {
    this.#window = window;
    this.#focus = focus;
    this.#dispatch = dispatch;
    this.#dismissal = dismissal;
  }

  /** After a `keydown` and a `keypress` on `target` that nothing prevented. */
  press(target: Element, key: string, isShifted: boolean): void {
    if (key === "Tab") this.#focus.next?.(isShifted ? -1 : 1);
    else if (key === "Escape") this.#dismissal.escape();
    else if (target.matches(TEXT_FIELDS)) this.#edit(target as Field, key);
    else if ((target as HTMLElement).isContentEditable) this.#write(target, key);
    else if (key === "Enter" && target.matches(ACTIVATED)) this.#click(target);
    else if (target instanceof this.#window.HTMLSelectElement) this.#choose(target, key);
    else if (target.matches("input")) this.#step(target as HTMLInputElement, key);
  }

  /** After a `keyup` on `target` that nothing prevented. */
  release(target: Element, key: string): void {
    if (key === " " && target.matches(`${ACTIVATED}, ${TOGGLED}`) && !target.matches("a"))
      this.#click(target);
  }

  #click(target: Element): void {
    (target as HTMLElement).click();
  }

  #edit(field: Field, key: string): void {
    if (field.readOnly || field.disabled) return;
    if (!this.#known.has(field)) this.#known.set(field, field.value);
    if (key === "Enter" && field instanceof this.#window.HTMLInputElement) {
      this.#change(field);
      this.#submit(field);
      return;
    }
    const isNumber = field.type === "number";
    if (isNumber && /^Arrow(Up|Down)$/.test(key)) {
      this.#step(field as HTMLInputElement, key);
      return;
    }
    if (key.length === 1) this.#insert(field, key, "insertText");
    else if (key === "Enter") this.#insert(field, "\n", "insertLineBreak");
    else if (key === "Backspace") this.#insert(field, "", "deleteContentBackward");
    else if (key === "Delete") this.#insert(field, "", "deleteContentForward");
    else if (!isNumber) this.#moveCaret(field, key);
  }

  #insert(field: Field, text: string, inputType: string): void {
    const { InputEvent } = this.#window;
    // Some kinds of fields do not reveal their caret: it counts as at the end.
    const [start, end] = [
      field.selectionStart ?? field.value.length,
      field.selectionEnd ?? field.value.length,
    ];
    const from = inputType === "deleteContentBackward" && start === end ? Math.max(0, start - 1) : start;
    const to =
      inputType === "deleteContentForward" && start === end ? Math.min(field.value.length, end + 1) : end;
    if (text === "" && from === to) return;
    if (text !== "" && field.maxLength >= 0 && field.value.length - (to - from) >= field.maxLength) return;
    const how = {
      bubbles: true,
      composed: true,
      inputType,
      data: text === "" || text === "\n" ? null : text,
    };
    const before = new InputEvent("beforeinput", { ...how, cancelable: true });
    this.#dispatch(field, before);
    if (before.defaultPrevented) return;
    if (field.selectionStart === null)
      field.value = field.value.slice(0, from) + text + field.value.slice(to);
    else field.setRangeText(text, from, to, "end");
    this.#dispatch(field, new InputEvent("input", how));
  }

  #moveCaret(field: Field, key: string): void {
    const [start, end] = [field.selectionStart ?? 0, field.selectionEnd ?? 0];
    const { length } = field.value;
    const to: Record<string, number> = {
      ArrowLeft: start === end ? Math.max(0, start - 1) : start,
      ArrowRight: start === end ? Math.min(length, end + 1) : end,
      ArrowUp: 0,
      ArrowDown: length,
      Home: 0,
      End: length,
    };
    if (key in to) field.setSelectionRange(to[key], to[key]);
  }

  #write(target: Element, key: string): void {
    const { document } = this.#window;
    const command = { Backspace: "delete", Delete: "forwardDelete", Enter: "insertParagraph" }[key];
    if (document.activeElement === target || target.contains(document.getSelection()?.anchorNode ?? null)) {
      if (command !== undefined) document.execCommand(command);
      else if (key.length === 1) document.execCommand("insertText", false, key);
    }
  }

  /** As Enter in a field sends its form. */
  #submit(field: HTMLInputElement): void {
    const { form } = field;
    if (form === null) return;
    const buttons = [...form.elements].filter((one) =>
      one.matches("button:not([type]), [type=submit], [type=image]"),
    );
    const [first] = buttons as HTMLButtonElement[];
    if (first !== undefined) {
      if (!first.disabled) first.click();
    } else if ([...form.elements].filter((one) => one.matches(TEXT_FIELDS)).length === 1)
      form.requestSubmit();
  }

  #choose(select: HTMLSelectElement, key: string): void {
    const by = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[key];
    if (by === undefined) return;
    const { options, selectedIndex } = select;
    for (let at = selectedIndex + by; at >= 0 && at < options.length; at += by)
      if (!options[at].disabled) {
        select.selectedIndex = at;
        this.#changed(select);
        return;
      }
  }

  /** Arrows in a range, a number, or among radio buttons. */
  #step(input: HTMLInputElement, key: string): void {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[key];
    if (by === undefined) return;
    if (input.type === "radio") {
      const group = [...this.#window.document.querySelectorAll<HTMLInputElement>("input[type=radio]")].filter(
        ({ name, form, disabled }) => name === input.name && form === input.form && !disabled,
      );
      const next = group[(group.indexOf(input) - by + group.length) % group.length];
      next.focus();
      next.click();
    } else if (input.type === "range" || input.type === "number") {
      const before = input.value;
      if (by > 0) input.stepUp();
      else input.stepDown();
      if (input.value !== before) this.#changed(input);
    }
  }

  #changed(field: Element): void {
    const { Event } = this.#window;
    this.#dispatch(field, new Event("input", { bubbles: true, composed: true }));
    this.#dispatch(field, new Event("change", { bubbles: true }));
  }

  /** As a field says that it is changed where it is left or sent. */
  #change(field: Field): void {
    if (this.#known.get(field) === field.value) return;
    this.#known.set(field, field.value);
    this.#dispatch(field, new this.#window.Event("change", { bubbles: true }));
  }

  /** The focus leaves `element`. */
  leave(element: Element | null): void {
    if (element !== null && this.#known.has(element)) this.#change(element as Field);
  }
}
