/** What a run of a game would use with some settings, asked of the server while the form is filled in. */

import type { GameDescription, SettingsView } from "@attract/schema";
import { useEffect, useState } from "react";
import { api } from "../api/client.ts";
import { useServerAway } from "./use-server-away.ts";

/** Keys are pressed faster than anyone reads what they change. */
const PAUSE_MS = 200;

export interface TriedSettings {
  /** The newest answer; null before the first. */
  view: SettingsView | null;
  /** Whether `view` answers what stands in the form now. */
  isCurrent: boolean;
  error: unknown;
}

/** `settings` nest as those of a run; what counts is what they say, not which object they are. */
export function useSettings(
  game: string,
  settings: Record<string, unknown>,
  description: GameDescription | null,
): TriedSettings {
  const asked = JSON.stringify({ game, settings, description });
  const [state, setState] = useState<{ asked: string | null; view: SettingsView | null; error: unknown }>({
    asked: null,
    view: null,
    error: null,
  });
  const isFirst = state.view === null;
  const isAway = useServerAway();
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again once the server answers
  useEffect(() => {
    let isCurrent = true;
    const ask = () =>
      api.trySettings(JSON.parse(asked)).then(
        (view) => isCurrent && setState({ asked, view, error: null }),
        (error: unknown) => isCurrent && setState((old) => ({ ...old, asked, error })),
      );
    const timer = setTimeout(ask, isFirst ? 0 : PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [asked, isFirst, isAway]);
  return { view: state.view, isCurrent: state.asked === asked, error: state.error };
}
