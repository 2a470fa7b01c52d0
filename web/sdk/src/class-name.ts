/** What a value calls itself in messages. */

/** Name of the class of `value`; empty for a plain object or a value that is no object. */
export function className(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "Object" ? name : "";
}
