/** How properties of a page's own objects are replaced: as if they had always been so. */

/** As it was before any script of the page: Box2dWeb puts one in its place that knows accessors alone. */
export const { defineProperty } = Object;

/** Replaces what `object` has as `name` by `value`: a function gets the name and the length of the one before. */
export function define(object: object, name: PropertyKey, value: unknown): void {
  const before = memberOf(object, name);
  if (typeof value === "function" && typeof before?.value === "function") imitate(value, before.value);
  defineProperty(object, name, {
    value,
    writable: true,
    configurable: true,
    enumerable: before?.enumerable ?? true,
  });
}

/** What is read as `name` of `object` from now on. It can be set where it could be before: the window's own give way to a page's. */
// biome-ignore lint/suspicious/noExplicitAny: the object that is read, of whatever class
export function defineGetter(object: object, name: PropertyKey, get: (this: any) => unknown): void {
  const before = memberOf(object, name);
  if (before?.get !== undefined) imitate(get, before.get);
  const enumerable = before?.enumerable ?? true;
  defineProperty(object, name, { get, set: before?.set, configurable: true, enumerable });
}

/** Gives a function all that a page sees of another one: its name, what is static of it, and that of its class it is the constructor. */
function imitate(one: object, other: object): void {
  const { prototype } = other as { prototype?: object };
  const isClass = prototype?.constructor === other && (one as { prototype?: object }).prototype === prototype;
  if (prototype === undefined && "prototype" in one) one.prototype = undefined;
  Object.setPrototypeOf(one, Object.getPrototypeOf(other));
  for (const key of Reflect.ownKeys(other)) {
    const own = Object.getOwnPropertyDescriptor(other, key) as PropertyDescriptor;
    if (key === "name" || key === "length" || (isClass && !Object.hasOwn(one, key)))
      defineProperty(one, key, own);
  }
  if (isClass)
    defineProperty(prototype, "constructor", {
      value: one,
      writable: true,
      configurable: true,
      enumerable: false,
    });
}

/** Its own, or that of its class. */
function memberOf(object: object, name: PropertyKey): PropertyDescriptor | undefined {
  for (let holder: object | null = object; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const found = Object.getOwnPropertyDescriptor(holder, name);
    if (found !== undefined) return found;
  }
  return undefined;
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

/**
 * Makes objects of a class that only the browser can make: `members` are what its attributes and methods answer.
 *
 * Those that the browser makes keep its own. What can be set is kept as it was set.
 *
 * @param base what becomes the object, such as an `EventTarget`.
 */
export function makerOf<T extends object>(prototype: T): (members: Partial<T>, base?: object) => T {
  const made = new WeakMap<object, Partial<T>>();
  for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const key = name as keyof T;
    if (own.get !== undefined) {
      const get = function (this: object): unknown {
        const members = made.get(this);
        return members === undefined ? own.get?.call(this) : members[key];
      };
      const set = function (this: object, value: never): void {
        const members = made.get(this);
        if (members === undefined) own.set?.call(this, value);
        else members[key] = value;
      };
      imitate(get, own.get);
      if (own.set !== undefined) imitate(set, own.set);
      defineProperty(prototype, name, { ...own, get, set: own.set && set });
    } else if (typeof own.value === "function" && name !== "constructor")
      define(prototype, name, function (this: object, ...args: unknown[]) {
        const members = made.get(this);
        return (members === undefined ? own.value : (members[key] as typeof own.value)).apply(this, args);
      });
  }
  return (members, base = {}) => {
    const one = Object.setPrototypeOf(base, prototype) as T;
    made.set(one, members);
    return one;
  };
}
