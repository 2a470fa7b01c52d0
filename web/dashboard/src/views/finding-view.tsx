/** The episode of a finding of `attract ci`, from shortly before it happens, in the game that this server has now. */

import type { PlaytestFinding } from "@attract/schema";
import { useQuery } from "@tanstack/react-query";
import { api, buildOf } from "../api/client.ts";
import { Page } from "../components/page.tsx";
import { formatRoute, gameRoute, type Route } from "../routes.ts";
import { gameNamed } from "../state/game-text.ts";
import { beginOf, findingIn, placeText } from "../state/playtest-text.ts";
import { EpisodeTheatre, type Shown } from "./episode-theatre.tsx";

type FindingRoute = Extract<Route, { view: "finding" }>;

interface Found {
  /** The game's. */
  title: string;
  finding: PlaytestFinding;
  shown: readonly Shown[];
}

export function FindingView({ route }: { route: FindingRoute }) {
  const query = useQuery({ queryKey: [formatRoute(route)], queryFn: () => load(route) });
  const { data: value } = query;
  return (
    <Page
      back={{ text: value?.title ?? route.game, href: formatRoute(gameRoute(route.game)) }}
      title={value === undefined ? "Finding of attract ci" : `Finding: ${value.finding.id}`}
      lede={value?.finding.text}
      query={query}
    >
      {value !== undefined && (
        <>
          <EpisodeTheatre
            shown={value.shown}
            at={beginOf(value.finding)}
            advisers={null}
            actions={() => null}
          />
          <p className="soft">{placeText(value.finding)}.</p>
          <p className="soft">
            In a terminal: <code>{`attract replay ${route.folder}/${route.file}`}</code>
          </p>
        </>
      )}
    </Page>
  );
}

/** Rejects with a sentence where the finding, its episode or its game is not there. */
async function load({ game, folder, file }: FindingRoute): Promise<Found> {
  const [reports, games] = await Promise.all([api.findings(), api.games()]);
  const finding = findingIn(reports, folder, file);
  if (finding === undefined)
    throw new Error(`No report has ${folder}/${file}. A later attract ci may have replaced it.`);
  const { title, reference } = gameNamed(games, game) ?? { title: game, reference: null };
  if (reference === null) throw new Error(`This server cannot load the game ${game}.`);
  const { episode } = finding;
  if (episode === null) throw new Error(finding.problem ?? `The finding ${finding.id} has no episode.`);
  return { title, finding, shown: [{ episode, reference: await buildOf(reference, episode.game_sha256) }] };
}
