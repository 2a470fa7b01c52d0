/** A value fetched once, with its loading and error states. */

import { useCallback, useEffect, useState } from "react";
import { isNoAnswer } from "../api/client.ts";
import { useServerAway } from "./use-server-away.ts";

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  reload: () => void;
}

/**
 * Calls `load` at first and whenever `key` changes; with `everyMs`, again and again while the page is visible. The old value
 * stays while a newer one is fetched, and when fetching it fails. That the server does not answer is no error here, since the page
 * says it at its top: it is asked again once it answers.
 * A value for which `isFinal` holds is not asked for again.
 */
export function useLoaded<T>(
  key: string,
  load: () => Promise<T>,
  everyMs?: number,
  isFinal: (value: T) => boolean = () => false,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: unknown }>({
    key,
    value: null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  const isMissing = useServerAway() && isNoAnswer(state.error);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for everything `load` depends on
  useEffect(() => {
    let isCurrent = true;
    const run = () => {
      load().then(
        (value) => {
          if (!isCurrent) return;
          setState({ key, value, error: null });
          if (isFinal(value)) clearInterval(timer);
        },
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
  }, [key, everyMs, turn, isMissing]);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  return {
    value: state.key === key ? state.value : null,
    error: isNoAnswer(state.error) ? null : state.error,
    reload,
  };
}
