/** The first page: choose a game, set what matters, start. */

import type { GameEntry } from "@attract/schema";
import { Loader } from "@mantine/core";
import { api } from "../api/client.ts";
import { useLoaded } from "../hooks/use-loaded.ts";
import { replaceRoute } from "../hooks/use-route.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { GamePreview } from "./game-preview.tsx";
import { StartForm } from "./start-form.tsx";

export function StartView({ chosen, activeRun }: { chosen: string | null; activeRun: string | null }) {
  const { value: games, error, reload } = useLoaded("games", api.games);
  const usable = games?.filter((game) => game.error === null) ?? [];
  const game = usable.find((entry) => entry.name === chosen) ?? usable[0] ?? null;

  return (
    <main id="content">
      <h1>Pick a game</h1>
      <p className="lede">
        Attract plays it thousands of times in your browser, learns from every try, and hands you an agent
        that plays it well.
      </p>
      {error !== null && <ErrorNotice error={error} onRetry={reload} />}
      {games === null && error === null && <Loader aria-label="Loading games" />}
      {games !== null && games.length === 0 && (
        <p>
          No games here yet. Add a module that exports <code>defineGame(...)</code> to the folder you started
          the server in, then reload.
        </p>
      )}
      {games !== null && games.length > 0 && (
        <div className="start">
          <div className="games">
            {games.map((entry) => (
              <GameCard key={entry.name} entry={entry} isChosen={entry === game} />
            ))}
          </div>
          {game !== null && <StartForm key={game.name} game={game} activeRun={activeRun} />}
        </div>
      )}
    </main>
  );
}

function GameCard({ entry, isChosen }: { entry: GameEntry; isChosen: boolean }) {
  return (
    <button
      type="button"
      className="game-card"
      aria-pressed={isChosen}
      disabled={entry.error !== null}
      onClick={() => replaceRoute({ view: "start", game: entry.name })}
    >
      {entry.reference === null ? <BrokenScreen /> : <GamePreview reference={entry.reference} />}
      <span className="name">
        {entry.title}
        {!entry.bundled && <span className="label">yours</span>}
      </span>
      {!entry.bundled && <span className="path soft mono">{entry.name}</span>}
      {entry.error !== null && <span className="broken">{entry.error}</span>}
    </button>
  );
}

function BrokenScreen() {
  return (
    <span className="screen">
      <span className="over">
        <strong>Cannot load</strong>
      </span>
    </span>
  );
}
