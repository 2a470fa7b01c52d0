/** What each metric is called on screen and what it tells someone who knows no reinforcement learning. */

export interface MetricInfo {
  title: string;
  help: string;
}

export interface ChartGroup {
  title: string;
  charts: readonly ChartInfo[];
}

export interface ChartInfo extends MetricInfo {
  /** Metric names drawn together. */
  names: readonly string[];
}

const CHARTS: readonly ChartGroup[] = [
  {
    title: "Is it getting better?",
    charts: [
      {
        names: ["rollout/ep_rew_mean"],
        title: "Return",
        help: "Sum of all rewards in one episode, averaged over the last 100. Up is better: this is the score.",
      },
      {
        names: ["rollout/ep_len_mean"],
        title: "Episode length",
        help: "Steps from start to end of an episode, averaged over the last 100. Whether long is good depends on the game.",
      },
      {
        names: ["time/fps"],
        title: "Steps per second",
        help: "Decisions of all workers together that the learner has used, per second. More workers give more.",
      },
    ],
  },
  {
    title: "How is it learning?",
    charts: [
      {
        names: ["train/entropy"],
        title: "Entropy",
        help: "How undecided the policy is. It starts high (it tries everything) and falls as the policy makes up its mind. Near zero too early: it stopped exploring.",
      },
      {
        names: ["train/approx_kl"],
        title: "KL divergence",
        help: "How much one update changed the policy. Usually under 0.05; large jumps mean the learning rate is too high.",
      },
      {
        names: ["train/explained_variance"],
        title: "Explained variance",
        help: "How well the policy foresees its own return: 1 is perfectly, 0 is not at all.",
      },
      {
        names: ["train/policy_gradient_loss"],
        title: "Policy loss",
        help: "What the update lowers to make good actions likelier. It hovers around zero; only wild swings matter.",
      },
      {
        names: ["train/value_loss"],
        title: "Value loss",
        help: "Error of the foreseen return. It often rises while the return rises, then falls.",
      },
      {
        names: ["train/clip_fraction"],
        title: "Clip fraction",
        help: "Share of steps where PPO held the policy back from changing too fast. 0.05 to 0.3 is usual.",
      },
    ],
  },
  {
    title: "What does it learn from?",
    charts: [
      {
        names: ["rollout/phase_spread"],
        title: "Spread of episode phases",
        help: "How far apart the games are in their episodes, in steps (standard deviation). Near 0 they all end at once and batches swing between beginnings and ends; games spread evenly over episodes of 500 steps give about 144.",
      },
      {
        names: ["train/policy_lag_mean", "train/policy_lag_max"],
        title: "Policy lag",
        help: "How many updates old the policy was that played: the mean and the largest of the batch. 0 in turn, at most 1 with overlap.",
      },
    ],
  },
];

/** Names that say the same as another; shown under the other's title. */
const ALIASES: Readonly<Record<string, string>> = { "train/entropy_loss": "train/entropy" };

/** Titles of the charts above, by the name they are of. */
const CHARTED: Readonly<Record<string, string>> = Object.fromEntries(
  CHARTS.flatMap(({ charts }) => charts.map(({ names, title }) => [names[0], title])),
);

/** Titles of metrics without a chart of their own in the groups above. */
const TITLES: Readonly<Record<string, string>> = {
  "train/learning_rate": "Learning rate",
  "train/loss": "Loss",
  "train/grad_norm": "Gradient norm",
  "train/clip_range": "Clip range",
  "curriculum/lesson": "Lesson",
};

/**
 * The charts for these metric names: the known groups first, everything else under "More". Empty groups are left out.
 * What an update reports of one policy of several is charted where it would be of a sole one.
 */
export function chartGroups(names: readonly string[]): ChartGroup[] {
  const present = new Set(names);
  const used = new Set<string>();
  const groups: ChartGroup[] = [];
  for (const group of CHARTS) {
    const charts = group.charts.flatMap((chart) => [
      ...(chart.names.some((name) => present.has(name)) ? [chart] : []),
      ...(isOfUpdates(chart) ? names.filter((name) => parentOf(name) === chart.names[0]) : []).map((name) =>
        partOf(chart, name),
      ),
    ]);
    for (const chart of charts) for (const name of chart.names) used.add(name);
    if (charts.length > 0) groups.push({ title: group.title, charts });
  }
  const rest = [...present]
    .filter((name) => !used.has(name) && !present.has(aliasOf(name) ?? ""))
    .sort()
    .map((name) => ({ names: [name], title: titleOf(name), help: `Recorded as ${name}.` }));
  if (rest.length > 0) groups.push({ title: "More", charts: rest });
  return groups;
}

/** The name that `name` is a part of: `train/loss/scout` of `train/loss`; null for a whole one. */
function parentOf(name: string): string | null {
  const parts = name.split("/");
  return parts.length > 2 ? parts.slice(0, -1).join("/") : null;
}

function isOfUpdates(chart: ChartInfo): boolean {
  return chart.names[0].startsWith("train/");
}

function partOf(chart: ChartInfo, name: string): ChartInfo {
  return { ...chart, names: [name], title: `${chart.title}: ${lastPart(name)}` };
}

function aliasOf(name: string): string | undefined {
  const parent = parentOf(name);
  if (parent === null) return ALIASES[name];
  return ALIASES[parent] && `${ALIASES[parent]}/${name.slice(parent.length + 1)}`;
}

/** The charts that are drawn, empty, before a run has any metrics. */
export function firstCharts(): ChartGroup {
  return CHARTS[0];
}

/** "fleet/worker_latency_mean" is "Worker latency mean". */
export function titleOf(name: string): string {
  const parent = parentOf(name);
  if (parent !== null) return `${titleOf(parent)}: ${lastPart(name)}`;
  const known = TITLES[name] ?? CHARTED[name];
  if (known !== undefined) return known;
  const text = lastPart(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).replaceAll("_", " ");
}
