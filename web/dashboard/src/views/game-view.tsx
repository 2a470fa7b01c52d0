/** One game: its agent to watch, what it is, its runs, studies and demonstrations, and the form of a new run. */

import type { GameDescription, GameEntry, RunRow } from "@attract/schema";
import { Anchor, Box, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { api, fetchKeptPolicy, fetchModel, policyPath } from "../api/client.ts";
import { polled } from "../api/queries.ts";
import { Page } from "../components/page.tsx";
import { Part } from "../components/part.tsx";
import { StudyPill } from "../components/state-pill.tsx";
import type { Opened } from "../game/stage.ts";
import { formatRoute, runRoute } from "../routes.ts";
import { demonstrationTitle } from "../state/demonstration-text.ts";
import { formatNumber } from "../state/format.ts";
import { gameNamed, isGame, learnText, parameterText, spaceText } from "../state/game-text.ts";
import { bestRun } from "../state/home.ts";
import type { Changes } from "../state/settings-form.ts";
import { AgentScreen } from "./agent-screen.tsx";
import { GameAndForm, NewRun, showForm } from "./new-run.tsx";
import { PlaytestReports } from "./playtest-reports.tsx";
import { Row, Rows, RunRows } from "./run-rows.tsx";

const RELOAD_MS = 5000;
const NUM_ROWS = 10;

interface GameViewProps {
  name: string;
  /** Id of a run whose settings the form begins with; null: the game's own. */
  from: string | null;
  /** By path, what is changed of those. */
  set: Changes | undefined;
  activeRun: string | null;
}

/** Runs of this game, newest first. */
async function runsOf(game: string): Promise<RunRow[]> {
  const file = game.slice(game.lastIndexOf("/") + 1);
  const { runs } = await api.runList({ q: `game:"${file.replaceAll('"', "")}"` });
  // A search is for a part of the name.
  return runs.filter((run) => isGame(game, run.game) || isGame(run.game, game));
}

export function GameView({ name, from, set, activeRun }: GameViewProps) {
  const { data: games = null, error, refetch } = useQuery({ queryKey: ["games"], queryFn: api.games });
  const { data: runs = null } = useQuery(polled(["runs of", name], () => runsOf(name), RELOAD_MS));
  const [description, setDescription] = useState<GameDescription | null>(null);
  const opened = useCallback((game: Opened) => setDescription(game.description), []);
  const game = games === null ? null : gameNamed(games, name);
  if (error !== null) return <Page title={name} query={{ data: null, error, refetch }} />;
  if (games === null || runs === null) return <Loader aria-label="Loading the game" />;
  if (game === null) return <UnknownGame name={name} />;
  if (game.error !== null)
    return <Page title={game.title} query={{ data: null, error: new Error(game.error), refetch }} />;
  return (
    <GameAndForm>
      <div>
        <h1>{game.title}</h1>
        <p className="lede">{game.card?.about ?? <span className="mono">{game.name}</span>}</p>
        <Agent game={game} runs={runs} onOpened={opened} />
        <Button hiddenFrom="md" mt="md" onClick={showForm}>
          New run
        </Button>
        <Facts game={game} description={description} />
        <Section title="Runs" isEmpty={runs.length === 0} empty="No run yet.">
          <RunRows runs={runs.slice(0, NUM_ROWS)} />
        </Section>
        <Studies game={game.name} />
        {description !== null && <Demonstrated gameId={description.id} game={game.name} />}
        {description !== null && <PlaytestReports gameId={description.id} game={game.name} />}
      </div>
      <NewRun game={game} description={description} from={from} set={set} activeRun={activeRun} />
    </GameAndForm>
  );
}

/** The trained agent that comes with the game, else that of its best run, else random play. */
function Agent({
  game,
  runs,
  onOpened,
}: {
  game: GameEntry;
  runs: readonly RunRow[];
  onOpened: (opened: Opened) => void;
}) {
  const isKept = (game.card?.trained_return ?? null) !== null;
  // The run that was best when the page was opened: a better one would begin the game anew.
  const [best] = useState(() => (isKept ? null : bestRun(runs)));
  const policy = useMemo(() => {
    if (isKept) return () => fetchKeptPolicy(game.name);
    if (best === null) return null;
    return async () => (await fetchModel(policyPath(best.run_id, "latest"))).onnx;
  }, [isKept, game.name, best]);
  const { reference } = game;
  if (reference === null) return null;
  const player = isKept ? "the trained agent" : best === null ? "chance" : "the best run's agent";
  return (
    <>
      <AgentScreen reference={reference} policy={policy} player={player} onOpened={onOpened} />
      {best !== null && (
        <p className="soft">
          Agent of <Anchor href={formatRoute(runRoute(best.run_id))}>{best.run_id}</Anchor>, return{" "}
          {formatNumber(best.episode_return_mean)}.
        </p>
      )}
    </>
  );
}

function Facts({ game, description }: { game: GameEntry; description: GameDescription | null }) {
  const parameters = Object.entries(description?.parameters ?? {});
  const facts: [name: string, value: string | null][] = [
    ["Keys", game.card?.keys ?? null],
    ["Trained agent", learnText(game.card)],
    ["Agents", description !== null && description.num_agents > 1 ? String(description.num_agents) : null],
    ["Observation", description && spaceText(description.observation)],
    ["Actions", description && spaceText(description.action)],
    ["Decisions", description && `${formatNumber(1 / description.seconds_per_step)} a second`],
    ...parameters.map(([name, range]): [string, string] => [`Parameter ${name}`, parameterText(range)]),
  ];
  return (
    <Stack component="dl" gap={8} mt={18} mb={0} data-testid="game-facts">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <Group key={name} align="baseline" gap="2px 14px">
              <Box component="dt" className="label" w={150}>
                {name}
              </Box>
              <Box component="dd" m={0} flex="1 1 200px" style={{ overflowWrap: "anywhere" }}>
                {value}
              </Box>
            </Group>
          ),
      )}
    </Stack>
  );
}

function Studies({ game }: { game: string }) {
  const { data = [] } = useQuery({ queryKey: ["studies"], queryFn: api.studies });
  const studies = data.filter((study) => isGame(game, study.game));
  return (
    <Section title="Studies" isEmpty={studies.length === 0} empty={<Command text={`attract tune ${game}`} />}>
      <Rows>
        {studies.map((study) => (
          <Row
            key={study.study}
            href={formatRoute({ view: "study", name: study.study })}
            name={<strong>{study.study}</strong>}
            facts={[
              `Best score ${formatNumber(study.best_score)}`,
              `${study.num_done} of ${study.num_trials} trials`,
            ]}
            pill={<StudyPill state={study.state} />}
          />
        ))}
      </Rows>
    </Section>
  );
}

function Demonstrated({ gameId, game }: { gameId: string; game: string }) {
  const { data: entries = [] } = useQuery({
    queryKey: ["demonstrations", gameId],
    queryFn: () => api.demonstrations(gameId),
  });
  const now = Date.now();
  return (
    <Section
      title="Demonstrations"
      isEmpty={entries.length === 0}
      empty="None yet. Record your own play on the page of a run."
    >
      <ul>
        {entries.slice(0, NUM_ROWS).map((entry) => (
          <li key={entry.id}>{demonstrationTitle(entry, now)}</li>
        ))}
      </ul>
      <Command text={`attract imitate ${game}`} />
    </Section>
  );
}

function Command({ text }: { text: string }) {
  return (
    <>
      In a terminal: <code>{text}</code>
    </>
  );
}

interface SectionProps {
  title: string;
  isEmpty: boolean;
  empty: ReactNode;
  children: ReactNode;
}

function Section({ title, isEmpty, empty, children }: SectionProps) {
  return (
    <Part isPlain mt={28} title={title}>
      {isEmpty ? <Text c="dimmed">{empty}</Text> : children}
    </Part>
  );
}

function UnknownGame({ name }: { name: string }) {
  return (
    <Page
      title="No such game"
      lede={
        <>
          This server has no game called <span className="mono">{name}</span>.
        </>
      }
    >
      <Anchor href="#/">See all games</Anchor>
    </Page>
  );
}
