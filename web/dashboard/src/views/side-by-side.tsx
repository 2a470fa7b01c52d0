/** Two evaluation episodes side by side: of the first run, and of one that is chosen. */

import type { EpisodeEntry } from "@attract/schema";
import { Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { Part } from "../components/part.tsx";
import { ServerButton } from "../components/server-button.tsx";
import type { Compared } from "../hooks/use-compared.ts";
import { goTo } from "../hooks/use-route.ts";

export function SideBySide({ compared }: { compared: readonly Compared[] }) {
  const [first, ...others] = compared;
  const { mutate, error } = useMutation({ mutationFn: playBeside });
  if (first === undefined) return null;
  const playable = evaluated(first).length === 0 ? [] : others.filter((other) => evaluated(other).length > 0);
  return (
    <Part mt={20} title="Two games side by side">
      <p className="soft">
        {playable.length === 0
          ? "No two of these runs keep an evaluation episode each."
          : `An evaluation episode of ${first.row.name || first.row.run_id} beside one of the run you choose, of one seed where both keep one.`}
      </p>
      <ErrorNotice error={error} />
      <Group gap={8}>
        {playable.map((other) => (
          <ServerButton
            key={other.row.run_id}
            variant="default"
            size="xs"
            onClick={() => mutate([first, other])}
          >
            Play beside {other.row.name || other.row.run_id}
          </ServerButton>
        ))}
      </Group>
    </Part>
  );
}

async function playBeside([first, other]: readonly [Compared, Compared]): Promise<void> {
  const [own, beside] = await pairOf(first, other);
  goTo({
    view: "episode",
    runId: first.row.run_id,
    episodeId: own.id,
    at: null,
    beside: `${other.row.run_id}:${beside.id}`,
  });
}

const MAX_EPISODES = 12;

/** The newest evaluation episodes that can be played. */
function evaluated({ episodes }: Compared): readonly EpisodeEntry[] {
  return episodes
    .filter(({ source, problem }) => source === "evaluation" && problem === null)
    .slice(0, MAX_EPISODES);
}

/** Two evaluation episodes that began alike; where there are none the best of each. */
async function pairOf(first: Compared, second: Compared): Promise<[EpisodeEntry, EpisodeEntry]> {
  const seeded = await Promise.all(
    [first, second].map((one) =>
      Promise.all(
        evaluated(one).map(async (entry) => {
          const { seed, instance, episode } = await api.episode(one.row.run_id, entry.id);
          return { entry, key: JSON.stringify([seed, instance, episode]) };
        }),
      ),
    ),
  );
  const [own = [], others = []] = seeded;
  for (const { entry, key } of own) {
    const same = others.find((other) => other.key === key);
    if (same !== undefined) return [entry, same.entry];
  }
  const [a, b] = [own, others].map((all) =>
    all.reduce((best, one) => (one.entry.episode_return > best.entry.episode_return ? one : best)),
  );
  if (a === undefined || b === undefined) throw new RangeError("expected an evaluation episode of each run");
  return [a.entry, b.entry];
}
