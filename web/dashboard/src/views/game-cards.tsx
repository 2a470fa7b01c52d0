/** The games as one group of radio buttons: an arrow key chooses the next, and Tab goes on to what the chosen card offers. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { Anchor, Button } from "@mantine/core";
import { useCallback, useId, useState } from "react";
import { fetchKeptPolicy } from "../api/client.ts";
import { ServerButton } from "../components/server-button.tsx";
import type { Opened, Reset } from "../game/stage.ts";
import { replaceRoute } from "../hooks/use-route.ts";
import { formatRoute, gameRoute } from "../routes.ts";
import { learnText } from "../state/game-text.ts";
import { shortError } from "../state/report-text.ts";
import { GamePreview, StillPreview } from "./game-preview.tsx";
import { showForm } from "./new-run.tsx";

/** A game's own word: it may be anything. */
const RESETS: ReadonlyMap<unknown, readonly [text: string, title: string]> = new Map([
  ["own", ["own restart", "The game's own restart begins its episodes."]],
  [
    "over",
    ["own menu", "The game's own menu begins the next episode once one is over; others have a fresh page."],
  ],
  ["reload", ["fresh page", "Each episode has a fresh page."]],
]);

interface GameCardsProps {
  games: readonly GameEntry[];
  chosen: GameEntry | null;
  /** Told once what each game says of itself; the same function at each call. */
  onDescribed: (name: string, description: GameDescription) => void;
  onRetry: () => void;
}

export function GameCards({ games, chosen, onDescribed, onRetry }: GameCardsProps) {
  return (
    <div className="games" role="radiogroup" aria-labelledby="games-title">
      {games.map((entry) =>
        entry.error === null ? (
          <GameCard key={entry.name} entry={entry} isChosen={entry === chosen} onDescribed={onDescribed} />
        ) : (
          <BrokenCard key={entry.name} entry={entry} onRetry={onRetry} />
        ),
      )}
    </div>
  );
}

interface GameCardProps {
  entry: GameEntry;
  isChosen: boolean;
  onDescribed: GameCardsProps["onDescribed"];
}

function GameCard({ entry, isChosen, onDescribed }: GameCardProps) {
  const id = useId();
  const [reset, setReset] = useState<Reset>(null);
  const [isWatched, setWatched] = useState(false);
  const opened = useCallback(
    (game: Opened) => {
      setReset(game.reset);
      onDescribed(entry.name, game.description);
    },
    [entry.name, onDescribed],
  );
  const kept = useCallback(() => fetchKeptPolicy(entry.name), [entry.name]);
  const [resetText, resetTitle] = RESETS.get(reset) ?? [];
  const { card } = entry;
  const isPlaying = isWatched && isChosen;
  const choose = () => replaceRoute({ view: "start", game: entry.name, from: null });
  // One stop of Tab for all games: the arrows choose, and the chosen one's buttons come next.
  const tabIndex = isChosen ? 0 : -1;
  return (
    <div className="game-place">
      <label className="game-card">
        <input
          type="radio"
          name="game"
          className="game-radio"
          aria-labelledby={`${id}-name`}
          aria-describedby={`${id}-about`}
          checked={isChosen}
          onChange={choose}
          // An arrow key is a click without a press: the focus stays in sight then.
          onClick={(event) => event.detail > 0 && showForm()}
        />
        {entry.reference !== null &&
          (entry.reference.has_page && !isChosen ? (
            <StillPreview game={entry} />
          ) : (
            <GamePreview
              key={String(isPlaying)}
              reference={entry.reference}
              policy={isPlaying ? kept : null}
              isNeeded={isChosen}
              onOpened={opened}
            />
          ))}
        <span className="name">
          <span id={`${id}-name`}>{entry.title}</span>
          {isChosen && resetText !== undefined && (
            <span className="label" title={resetTitle}>
              {resetText}
            </span>
          )}
          {!entry.bundled && <span className="label">yours</span>}
        </span>
        <span id={`${id}-about`}>
          {!entry.bundled && <span className="path soft mono">{entry.name}</span>}
          {card !== null && <span className="about">{card.about}</span>}
          {card?.keys != null && <span className="about soft">{card.keys}.</span>}
          {learnText(card) !== null && <span className="about soft">{learnText(card)}</span>}
        </span>
      </label>
      <div className="game-actions">
        {card !== null && card.trained_return !== null && (
          <ServerButton
            forViewers
            size="xs"
            variant="default"
            tabIndex={tabIndex}
            aria-describedby={`${id}-name`}
            onClick={() => {
              setWatched(!isPlaying);
              choose();
            }}
          >
            {isPlaying ? "Stop" : "Watch the trained agent"}
          </ServerButton>
        )}
        <Anchor
          href={formatRoute(gameRoute(entry.name))}
          size="sm"
          tabIndex={tabIndex}
          aria-describedby={`${id}-name`}
        >
          More
        </Anchor>
      </div>
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
