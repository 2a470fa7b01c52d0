/** How properties of a page's own objects are replaced: as if they had always been so. */

/** Replaces what `object` has as `name` by `value`. */
export function define(object: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });
}

/** What is read as `name` of `object` from now on. */
// biome-ignore lint/suspicious/noExplicitAny: the object that is read, of whatever class
export function defineGetter(object: object, name: PropertyKey, get: (this: any) => unknown): void {
  Object.defineProperty(object, name, { get, configurable: true, enumerable: true });
}
