/** Two things to do before the first run: watch an agent, or train one. */

import type { GameEntry } from "@attract/schema";
import { useState } from "react";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { ServerButton, ServerLink } from "../components/server-button.tsx";
import { goTo } from "../hooks/use-route.ts";
import { formatRoute, gameRoute, runRoute } from "../routes.ts";
import { showpiece } from "../state/home.ts";
import { suggestedWorkers, workersOf } from "../state/settings-form.ts";
import { tabHost } from "../state/tab-host.ts";

const FIRST_GAME = "cartpole";
/** The return at which CartPole counts as solved; its maximum is 500. */
const FIRST_GOAL = 475;
/** From the press to the goal with one worker in a tab, measured on two busy CPU cores. */
const FIRST_SECONDS = 18;

export function FirstVisit({ games }: { games: readonly GameEntry[] }) {
  const shown = showpiece(games);
  const first = games.find((game) => game.name === FIRST_GAME && game.bundled);
  return (
    <>
      <h1>Train an agent to play a game</h1>
      <p className="lede">
        Attract plays a game thousands of times in your browser and learns from each episode. You get an agent
        that plays it well.
      </p>
      <div className="first-visit">
        {shown !== null && (
          <section className="card" aria-labelledby="first-watch">
            <h2 id="first-watch">Watch a trained agent</h2>
            <p>
              {shown.title}: {shown.card?.about}
            </p>
            <ServerLink variant="default" href={formatRoute(gameRoute(shown.name))}>
              Watch {shown.title}
            </ServerLink>
          </section>
        )}
        {first !== undefined && <FirstTraining game={first} />}
      </div>
    </>
  );
}

function FirstTraining({ game }: { game: GameEntry }) {
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const start = async () => {
    setSending(true);
    setError(null);
    try {
      const workers = suggestedWorkers(navigator.hardwareConcurrency || 2);
      const run = await api.startRun(game.name, {
        until_return: FIRST_GOAL,
        collection: { num_workers: workers },
      });
      await tabHost.join(workersOf(run));
      goTo(runRoute(run.run_id));
    } catch (problem) {
      setError(problem);
      setSending(false);
    }
  };
  return (
    <section className="card" aria-labelledby="first-train">
      <h2 id="first-train">
        Train {game.title}, {FIRST_SECONDS} seconds
      </h2>
      <p>{game.card?.about} It runs in this tab and stops when the game is solved.</p>
      {error !== null && <ErrorNotice error={error} />}
      <ServerButton loading={isSending} onClick={() => void start()}>
        Train {game.title} now
      </ServerButton>
    </section>
  );
}
