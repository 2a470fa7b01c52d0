/** What a run of a game would use with some settings, asked of the server while the form is filled in. */

import type { GameDescription, SettingsView } from "@attract/schema";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

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
  const now = JSON.stringify({ game, settings, description });
  const [asked] = useDebouncedValue(now, PAUSE_MS);
  const tried = useQuery({
    queryKey: ["tried settings", asked],
    queryFn: () => api.trySettings(JSON.parse(asked)),
    placeholderData: keepPreviousData,
  });
  return {
    view: tried.data ?? null,
    isCurrent: asked === now && !tried.isPlaceholderData,
    error: tried.error,
  };
}
