/** Choices of a person that this browser keeps, and the page where it keeps nothing. */

const here = new Map<string, string>();

/** "" where nothing is kept. */
export function stored(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return here.get(key) ?? "";
  }
}

/** "" forgets it. */
export function store(key: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    here.set(key, text);
  }
}
