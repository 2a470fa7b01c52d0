/** The second secret of this browser's session. Unlike the cookie, storage is kept apart by port. */

/** The header that carries it with whatever changes things. */
export const KEY_HEADER = "x-attract-key";

/** What it is stored as: servers behind one proxy share an origin, but not a path. */
export function keyName(base: string = document.baseURI): string {
  return `attract key ${new URL(".", base).pathname}`;
}

/** The key, or null where this browser has not signed in, or keeps nothing. */
export function sessionKey(): string | null {
  try {
    return localStorage.getItem(keyName());
  } catch {
    return null;
  }
}

/** Keeps the key for this browser's tabs and for after a restart of either side; null forgets it. */
export function keepSessionKey(key: string | null): void {
  try {
    if (key === null) localStorage.removeItem(keyName());
    else localStorage.setItem(keyName(), key);
  } catch {
    // Storage is forbidden here: the page is read-only, and the server refuses its changes.
  }
}
