/** Two things to do before the first run: watch an agent, or train one. */

import type { GameEntry } from "@attract/schema";
import { SimpleGrid, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
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
      <SimpleGrid minColWidth="min(260px, 100%)" autoFlow="auto-fit" spacing={18}>
        {shown !== null && (
          <Part title="Watch a trained agent">
            <Text mb={16}>
              {shown.title}: {shown.card?.about}
            </Text>
            <ServerLink variant="default" href={formatRoute(gameRoute(shown.name))}>
              Watch {shown.title}
            </ServerLink>
          </Part>
        )}
        {first !== undefined && <FirstTraining game={first} />}
      </SimpleGrid>
    </>
  );
}

function FirstTraining({ game }: { game: GameEntry }) {
  const start = useMutation({
    mutationFn: async () => {
      const workers = suggestedWorkers(navigator.hardwareConcurrency || 2);
      const run = await api.startRun(game.name, {
        until_return: FIRST_GOAL,
        collection: { num_workers: workers },
      });
      await tabHost.join(workersOf(run));
      goTo(runRoute(run.run_id));
    },
  });
  return (
    <Part title={`Train ${game.title}, ${FIRST_SECONDS} seconds`}>
      <Text mb={16}>{game.card?.about} It runs in this tab and stops when the game is solved.</Text>
      <ErrorNotice error={start.error} />
      <ServerButton loading={start.isPending} onClick={() => start.mutate()}>
        Train {game.title} now
      </ServerButton>
    </Part>
  );
}
