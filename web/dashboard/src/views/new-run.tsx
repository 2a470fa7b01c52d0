/** The form of a new run of one game, with what it begins with. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { useEffect } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { useLoaded } from "../hooks/use-loaded.ts";
import {
  type Changes,
  changesFrom,
  fieldsOf,
  suggestedWorkers,
  valueAt,
  WORKERS,
} from "../state/settings-form.ts";
import { StartForm } from "./start-form.tsx";

interface NewRunProps {
  game: GameEntry;
  /** What the game says of itself; null: it has not been loaded yet. */
  description: GameDescription | null;
  /** Id of a run whose settings the form begins with; null: the game's own. */
  from: string | null;
  /** By path, what is changed of those. */
  set: Changes | undefined;
  activeRun: string | null;
}

export function NewRun({ game, description, from, set, activeRun }: NewRunProps) {
  const { value: form, error: formError, reload } = useLoaded("settings", api.settingsForm);
  const start = `${game.name} ${from ?? ""} ${JSON.stringify(set ?? {})}`;
  const first = useLoaded(`first ${start}`, async () => await firstChanges(game, from));
  const isReady = form !== null && first.value !== null;
  useEffect(() => {
    if (isReady && from !== null) showForm();
  }, [isReady, from]);
  return (
    <div id="start-form">
      {formError !== null && <ErrorNotice error={formError} onRetry={reload} />}
      {first.error !== null && <ErrorNotice error={first.error} />}
      {form !== null && first.value !== null && (
        <StartForm
          key={start}
          game={game}
          description={description}
          form={form}
          first={{ ...first.value.changes, ...set }}
          suggested={first.value.suggested}
          activeRun={activeRun}
        />
      )}
    </div>
  );
}

/** What the form begins with: the settings of run `from`, or what this machine suggests: as many workers as it runs well. */
async function firstChanges(
  game: GameEntry,
  from: string | null,
): Promise<{ changes: Changes; suggested: Changes }> {
  const { own } = await api.trySettings({ game: game.name });
  if (from !== null) {
    const [form, run] = await Promise.all([api.settingsForm(), api.run(from)]);
    return { changes: changesFrom(fieldsOf(form).all, own, run.settings), suggested: {} };
  }
  const workers = suggestedWorkers(navigator.hardwareConcurrency || 2);
  const suggested: Changes = valueAt(own, WORKERS) === workers ? {} : { [WORKERS]: String(workers) };
  return { changes: suggested, suggested };
}

/** Where the form stands below all else, it comes into sight; beside it, it always is. */
export function showForm(): void {
  const form = document.getElementById("start-form");
  if (form === null || form.getBoundingClientRect().top < window.innerHeight * 0.8) return;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  form.scrollIntoView({ behavior: isStill ? "auto" : "smooth", block: "start" });
}
