/** A value fetched once, with its loading and error states. */

import { useCallback, useEffect, useState } from "react";

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  reload: () => void;
}

/**
 * Calls `load` at first and whenever `key` changes; with `everyMs`, again and again while the page is visible. The old value
 * stays while a newer one is fetched, and when fetching it fails.
 */
export function useLoaded<T>(key: string, load: () => Promise<T>, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown }>({
    key,
    value: null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for everything `load` depends on
  useEffect(() => {
    let isCurrent = true;
    const run = () => {
      load().then(
        (value) => isCurrent && setState({ key, value, error: null }),
        (error: unknown) =>
          isCurrent && setState((old) => ({ key, value: old.key === key ? old.value : null, error })),
      );
    };
    run();
    const timer = everyMs === undefined ? undefined : setInterval(() => document.hidden || run(), everyMs);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [key, everyMs, turn]);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  return { value: state.key === key ? state.value : null, error: state.error, reload };
}
