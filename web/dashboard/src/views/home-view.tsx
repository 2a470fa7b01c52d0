/** Home: the current run, the last runs, and the games with the form that starts one. */

import type { GameDescription, GameEntry } from "@attract/schema";
import { Anchor, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { api } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { formatRoute, runsRoute } from "../routes.ts";
import { isFirstVisit } from "../state/home.ts";
import { FirstVisit } from "./first-visit.tsx";
import { GameCards } from "./game-cards.tsx";
import { GameAndForm, NewRun } from "./new-run.tsx";
import { NowCard } from "./now-card.tsx";
import { RunRows } from "./run-rows.tsx";

const RELOAD_MS = 5000;
const NUM_RUNS = 5;

/** One more than is shown: the current run stands apart. */
const lastRuns = () => api.runList({ limit: NUM_RUNS + 1 });

interface HomeViewProps {
  /** Name of the chosen game; null: the first. */
  chosen: string | null;
  /** The run that this server trains: it trains one at a time. */
  activeRun: string | null;
  /** The newest running run, whichever process trains it. */
  liveRun: string | null;
}

export function HomeView({ chosen, activeRun, liveRun }: HomeViewProps) {
  const { data: games = null, error, refetch } = useQuery({ queryKey: ["games"], queryFn: api.games });
  const { data: list = null } = useQuery(polled(["last runs"], lastRuns, RELOAD_MS));
  const [descriptions, setDescriptions] = useState<Readonly<Record<string, GameDescription>>>({});
  const describe = useCallback(
    (name: string, description: GameDescription) =>
      setDescriptions((known) => ({ ...known, [name]: description })),
    [],
  );
  const usable = games?.filter((game) => game.error === null) ?? [];
  const game = usable.find((entry) => entry.name === chosen) ?? usable[0] ?? null;
  const last = (list?.runs ?? []).filter((run) => run.run_id !== liveRun).slice(0, NUM_RUNS);
  return (
    <GameAndForm>
      <div>
        {list !== null && isFirstVisit(list, liveRun) ? (
          <FirstVisit games={usable} />
        ) : (
          <>
            {liveRun === null ? <h1>Nothing is training</h1> : <NowCard key={liveRun} runId={liveRun} />}
            {last.length > 0 && (
              <Part
                isPlain
                mt={28}
                title="Last runs"
                beside={<Anchor href={formatRoute(runsRoute())}>All runs</Anchor>}
              >
                <RunRows runs={last} />
              </Part>
            )}
          </>
        )}
        <Games games={games} error={error} game={game} onDescribed={describe} onRetry={refetch} />
      </div>
      {game !== null && (
        <NewRun
          game={game}
          description={descriptions[game.name] ?? null}
          from={null}
          set={undefined}
          activeRun={activeRun}
        />
      )}
    </GameAndForm>
  );
}

interface GamesProps {
  games: readonly GameEntry[] | null;
  error: unknown;
  game: GameEntry | null;
  onDescribed: (name: string, description: GameDescription) => void;
  onRetry: () => void;
}

function Games({ games, error, game, onDescribed, onRetry }: GamesProps) {
  return (
    <Part isPlain mt={28} title="Pick a game">
      {error !== null && <ErrorNotice error={error} onRetry={onRetry} />}
      {games === null && error === null && <Loader aria-label="Loading games" />}
      {games !== null && games.length === 0 && (
        <p>
          No games here yet. Add a module that exports <code>defineGame(...)</code> to the folder you started
          the server in, then reload.
        </p>
      )}
      {games !== null && games.length > 0 && (
        <GameCards games={games} chosen={game} onDescribed={onDescribed} onRetry={onRetry} />
      )}
    </Part>
  );
}
