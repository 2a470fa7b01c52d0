/** How properties of a page's own objects are replaced: as if they had always been so. */

/** As it was before any script of the page: Box2dWeb puts one in its place that knows accessors alone. */
export const { defineProperty } = Object;

/** Replaces what `object` has as `name` by `value`. */
export function define(object: object, name: PropertyKey, value: unknown): void {
  defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });
}

/** What is read as `name` of `object` from now on. */
// biome-ignore lint/suspicious/noExplicitAny: the object that is read, of whatever class
export function defineGetter(object: object, name: PropertyKey, get: (this: any) => unknown): void {
  defineProperty(object, name, { get, configurable: true, enumerable: true });
}

/**
 * Gives `object` the handler `on...` of an event: what is set is a listener until another one is.
 *
 * @param listened what is listened to in the place of `this`. Default: itself.
 */
export function defineHandler<T extends EventTarget>(
  object: object,
  type: string,
  listened: (self: T) => EventTarget = (self) => self,
): void {
  const handlers = new WeakMap<T, EventListener>();
  defineProperty(object, `on${type}`, {
    get(this: T) {
      return handlers.get(this) ?? null;
    },
    set(this: T, handler: unknown) {
      listened(this).removeEventListener(type, handlers.get(this) ?? null);
      handlers.delete(this);
      if (typeof handler !== "function") return;
      handlers.set(this, handler as EventListener);
      listened(this).addEventListener(type, handler as EventListener);
    },
    configurable: true,
    enumerable: true,
  });
}
