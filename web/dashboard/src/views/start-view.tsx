/** The first page: choose a game, set what matters, start. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { Button, Loader } from "@mantine/core";
import { useCallback, useState } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton } from "../components/server-button.tsx";
import type { Opened, Reset } from "../game/stage.ts";
import { useLoaded } from "../hooks/use-loaded.ts";
import { replaceRoute } from "../hooks/use-route.ts";
import { formatNumber } from "../state/format.ts";
import { shortError } from "../state/report-text.ts";
import {
  type Changes,
  changesFrom,
  fieldsOf,
  suggestedWorkers,
  valueAt,
  WORKERS,
} from "../state/settings-form.ts";
import { GamePreview, StillPreview } from "./game-preview.tsx";
import { StartForm } from "./start-form.tsx";

interface StartViewProps {
  /** Name of the chosen game; null: the first. */
  chosen: string | null;
  /** Id of a run whose settings the form begins with; null: the game's own. */
  from: string | null;
  /** By path, what is changed of those. */
  set: Changes | undefined;
  activeRun: string | null;
}

export function StartView({ chosen, from, set, activeRun }: StartViewProps) {
  const { value: games, error, reload } = useLoaded("games", api.games);
  const { value: form, error: formError, reload: reloadForm } = useLoaded("settings", api.settingsForm);
  const [descriptions, setDescriptions] = useState<Readonly<Record<string, GameDescription>>>({});
  const describe = useCallback(
    (name: string, description: GameDescription) =>
      setDescriptions((known) => ({ ...known, [name]: description })),
    [],
  );
  const usable = games?.filter((game) => game.error === null) ?? [];
  const game = usable.find((entry) => entry.name === chosen) ?? usable[0] ?? null;
  const start = `${game?.name ?? ""} ${from ?? ""} ${JSON.stringify(set ?? {})}`;
  const first = useLoaded(`first ${start}`, async () => await firstChanges(game, from));

  return (
    <main id="content" className="start">
      <div>
        <h1>Pick a game</h1>
        <p className="lede">
          Attract plays it thousands of times in your browser, learns from every try, and hands you an agent
          that plays it well.
        </p>
        {error !== null && <ErrorNotice error={error} onRetry={reload} />}
        {formError !== null && <ErrorNotice error={formError} onRetry={reloadForm} />}
        {games === null && error === null && <Loader aria-label="Loading games" />}
        {games !== null && games.length === 0 && (
          <p>
            No games here yet. Add a module that exports <code>defineGame(...)</code> to the folder you
            started the server in, then reload.
          </p>
        )}
        {games !== null && games.length > 0 && (
          <div className="games">
            {games.map((entry) =>
              entry.error === null ? (
                <GameCard key={entry.name} entry={entry} isChosen={entry === game} onDescribed={describe} />
              ) : (
                <BrokenCard key={entry.name} entry={entry} onRetry={reload} />
              ),
            )}
          </div>
        )}
      </div>
      <div id="start-form">
        {game !== null && form !== null && first.error !== null && <ErrorNotice error={first.error} />}
        {game !== null && form !== null && first.value !== null && (
          <StartForm
            key={start}
            game={game}
            description={descriptions[game.name] ?? null}
            form={form}
            first={{ ...first.value.changes, ...set }}
            suggested={first.value.suggested}
            activeRun={activeRun}
          />
        )}
      </div>
    </main>
  );
}

/** What the form begins with: the settings of run `from`, or what this machine suggests: as many workers as it runs well. */
async function firstChanges(
  game: GameEntry | null,
  from: string | null,
): Promise<{ changes: Changes; suggested: Changes }> {
  if (game === null) return { changes: {}, suggested: {} };
  const { own } = await api.trySettings({ game: game.name });
  if (from !== null) {
    const [form, run] = await Promise.all([api.settingsForm(), api.run(from)]);
    return { changes: changesFrom(fieldsOf(form).all, own, run.settings), suggested: {} };
  }
  const workers = suggestedWorkers(navigator.hardwareConcurrency || 2);
  const suggested: Changes = valueAt(own, WORKERS) === workers ? {} : { [WORKERS]: String(workers) };
  return { changes: suggested, suggested };
}

/** A game's own word: it may be anything. */
const RESETS: ReadonlyMap<unknown, readonly [text: string, title: string]> = new Map([
  ["own", ["own restart", "The game's own restart begins its episodes."]],
  [
    "over",
    ["own menu", "The game's own menu begins the next episode once one is over; others have a fresh page."],
  ],
  ["reload", ["fresh page", "Each episode has a fresh page."]],
]);

interface GameCardProps {
  entry: GameEntry;
  isChosen: boolean;
  /** Told once what the game says of itself; the same function at each call. */
  onDescribed: (name: string, description: GameDescription) => void;
}

function GameCard({ entry, isChosen, onDescribed }: GameCardProps) {
  const [reset, setReset] = useState<Reset>(null);
  const [isWatched, setWatched] = useState(false);
  const opened = useCallback(
    (game: Opened) => {
      setReset(game.reset);
      onDescribed(entry.name, game.description);
    },
    [entry.name, onDescribed],
  );
  const [resetText, resetTitle] = RESETS.get(reset) ?? [];
  const { card } = entry;
  const isPlaying = isWatched && isChosen;
  const choose = () => {
    replaceRoute({ view: "start", game: entry.name, from: null });
    showForm();
  };
  return (
    <div className="game-place">
      <button type="button" className="game-card" aria-pressed={isChosen} onClick={choose}>
        {entry.reference !== null &&
          (entry.reference.has_page && !isChosen ? (
            <StillPreview game={entry} />
          ) : (
            <GamePreview
              key={String(isPlaying)}
              reference={entry.reference}
              trained={isPlaying ? entry.name : null}
              isNeeded={isChosen}
              onOpened={opened}
            />
          ))}
        <span className="name">
          {entry.title}
          {isChosen && resetText !== undefined && (
            <span className="label" title={resetTitle}>
              {resetText}
            </span>
          )}
          {!entry.bundled && <span className="label">yours</span>}
        </span>
        {!entry.bundled && <span className="path soft mono">{entry.name}</span>}
        {card !== null && (
          <span className="about">
            {card.about}
            {card.random_return !== null &&
              card.trained_return !== null &&
              ` Random play ${formatNumber(card.random_return)}, trained ${formatNumber(card.trained_return)}.`}
          </span>
        )}
      </button>
      {card !== null && card.trained_return !== null && (
        <ServerButton
          forViewers
          size="xs"
          variant="default"
          onClick={() => {
            setWatched(!isPlaying);
            replaceRoute({ view: "start", game: entry.name, from: null });
          }}
        >
          {isPlaying ? "Stop" : "Watch the trained agent"}
        </ServerButton>
      )}
    </div>
  );
}

function BrokenCard({ entry, onRetry }: { entry: GameEntry; onRetry: () => void }) {
  return (
    <div className="game-card broken-card">
      <span className="name">
        {entry.title}
        <span className="label">yours</span>
      </span>
      <span className="path soft mono">{entry.name}</span>
      <strong className="broken">Cannot be loaded</strong>
      <span className="broken-text">{shortError(entry.error ?? "")}</span>
      <details className="broken-text">
        <summary>The whole message</summary>
        <pre>{entry.error}</pre>
      </details>
      <Button size="xs" variant="default" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}

/** Where the form stands below all games, it comes into sight; beside them it always is. */
function showForm(): void {
  const form = document.getElementById("start-form");
  if (form === null || form.getBoundingClientRect().top < window.innerHeight * 0.8) return;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  form.scrollIntoView({ behavior: isStill ? "auto" : "smooth", block: "start" });
}
