/** The form of a new run of one game, with what it begins with. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { Box, Flex } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
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
  const {
    data: form,
    error: formError,
    refetch,
  } = useQuery({ queryKey: ["settings form"], queryFn: api.settingsForm, staleTime: Infinity });
  const start = `${game.name} ${from ?? ""} ${JSON.stringify(set ?? {})}`;
  const first = useQuery({
    queryKey: ["first", start],
    queryFn: () => firstChanges(game, from),
    // What the form begins with does not change under a person's hands.
    staleTime: Infinity,
    gcTime: 0,
  });
  const isReady = form !== undefined && first.data !== undefined;
  useEffect(() => {
    if (isReady && from !== null) showForm();
  }, [isReady, from]);
  return (
    // Below all else it is as high as the window before it is loaded, so that who goes to it arrives at its top.
    <Box
      id="start-form"
      pos={{ base: "static", md: "sticky" }}
      top={16}
      w={{ base: "100%", md: 360 }}
      mih={{ base: "100dvh", md: 0 }}
    >
      {formError !== null && <ErrorNotice error={formError} onRetry={refetch} />}
      {first.error !== null && <ErrorNotice error={first.error} />}
      {form !== undefined && first.data !== undefined && (
        <StartForm
          key={start}
          game={game}
          description={description}
          form={form}
          first={{ ...first.data.changes, ...set }}
          suggested={first.data.suggested}
          activeRun={activeRun}
        />
      )}
    </Box>
  );
}

/** A page about games, with the form beside it, or below where that is too narrow. */
export function GameAndForm({ children: [games, form] }: { children: [ReactNode, ReactNode] }) {
  return (
    <Flex component="main" id="content" direction={{ base: "column", md: "row" }} align="flex-start" gap={28}>
      <Box flex="1 1 0" w="100%" miw={0}>
        {games}
      </Box>
      {form}
    </Flex>
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
