/** The games as one group of radio buttons: an arrow key chooses the next, and Tab goes on to what the chosen card offers. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { Anchor, Button, Code, Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { type ReactNode, useCallback, useId, useState } from "react";
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
    <SimpleGrid
      minColWidth="min(240px, 45%)"
      spacing={{ base: 10, xs: 18 }}
      role="radiogroup"
      aria-label="Games"
    >
      {games.map((entry) =>
        entry.error === null ? (
          <GameCard key={entry.name} entry={entry} isChosen={entry === chosen} onDescribed={onDescribed} />
        ) : (
          <BrokenCard key={entry.name} entry={entry} onRetry={onRetry} />
        ),
      )}
    </SimpleGrid>
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
    <Paper className="game-place">
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
        <GameName id={`${id}-name`} entry={entry}>
          {isChosen && resetText !== undefined && (
            <span className="label" title={resetTitle}>
              {resetText}
            </span>
          )}
        </GameName>
        <Stack id={`${id}-about`} component="span" gap={6} fz={14}>
          {!entry.bundled && <span className="soft mono">{entry.name}</span>}
          {card !== null && <span>{card.about}</span>}
          {card?.keys != null && <span className="soft">{card.keys}.</span>}
          {learnText(card) !== null && <span className="soft">{learnText(card)}</span>}
        </Stack>
      </label>
      <Group gap="6px 12px" px="md" pb={14}>
        {card !== null && card.trained_return !== null && (
          <ServerButton
            forViewers
            size="xs"
            h="auto"
            mih={30}
            px={8}
            styles={{ label: { whiteSpace: "normal" } }}
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
      </Group>
    </Paper>
  );
}

/** Its name, and whether it is one's own. */
function GameName({ id, entry, children }: { id?: string; entry: GameEntry; children?: ReactNode }) {
  return (
    <Group component="span" justify="space-between" gap={8} pt={8} fz={17} fw={650}>
      <span id={id}>{entry.title}</span>
      {children}
      {!entry.bundled && <span className="label">yours</span>}
    </Group>
  );
}

function BrokenCard({ entry, onRetry }: { entry: GameEntry; onRetry: () => void }) {
  return (
    <Paper className="game-card" style={{ alignSelf: "start" }} fz={13}>
      <GameName entry={entry} />
      <span className="soft mono">{entry.name}</span>
      <Text span inherit fw={700} c="var(--bad)">
        Cannot be loaded
      </Text>
      <span>{shortError(entry.error ?? "")}</span>
      <details>
        <summary>The whole message</summary>
        <Code block>{entry.error}</Code>
      </details>
      <Button size="xs" variant="default" onClick={onRetry}>
        Try again
      </Button>
    </Paper>
  );
}
