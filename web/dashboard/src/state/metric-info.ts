/** What each metric is called on screen and what it tells someone who knows no reinforcement learning. */

export interface ChartInfo {
  /** The metric. */
  name: string;
  title: string;
  help: string;
  /** What stands in its place before there is a value; by default that it comes with the first update. */
  nothing?: string;
}

export interface ChartGroup {
  title: string;
  /** Whether it is unfolded at first. */
  isOpen: boolean;
  charts: readonly ChartInfo[];
}

/** The groups that are always open: what matters in every run, first what is drawn even before there is anything. */
const CHARTS: readonly ChartGroup[] = [
  {
    title: "Is it getting better?",
    isOpen: true,
    charts: [
      {
        name: "rollout/ep_rew_mean",
        title: "Return",
        help: "Sum of all rewards in one episode, averaged over the last 100. Up is better: this is the score.",
        nothing: "Comes with the first episode that ends",
      },
      {
        name: "rollout/ep_len_mean",
        title: "Episode length",
        help: "Steps from start to end of an episode, averaged over the last 100. Whether long is good depends on the game.",
        nothing: "Comes with the first episode that ends",
      },
      {
        name: "fleet/steps_per_second",
        title: "Steps per second",
        help: "Decisions of all workers together, per second, over the last few seconds. More workers give more.",
      },
    ],
  },
  {
    title: "How is it learning?",
    isOpen: true,
    charts: [
      {
        name: "train/entropy",
        title: "Entropy",
        help: "How undecided the policy is. It starts high (it tries everything) and falls as the policy makes up its mind. Near zero too early: it stopped exploring.",
      },
      {
        name: "train/approx_kl",
        title: "KL divergence",
        help: "How much one update changed the policy. Usually under 0.05; large jumps mean the learning rate is too high.",
      },
      {
        name: "train/explained_variance",
        title: "Explained variance",
        help: "How well the policy foresees its own return: 1 is perfectly, 0 is not at all.",
      },
      {
        name: "train/policy_gradient_loss",
        title: "Policy loss",
        help: "What the update lowers to make good actions likelier. It hovers around zero; only wild swings matter.",
      },
      {
        name: "train/value_loss",
        title: "Value loss",
        help: "Error of the foreseen return. It often rises while the return rises, then falls.",
      },
      {
        name: "train/clip_fraction",
        title: "Clip fraction",
        help: "Share of steps where PPO held the policy back from changing too fast. 0.05 to 0.3 is usual.",
      },
    ],
  },
];

/** What a run that looks for the unseen has besides; in the order in which the charts are shown. */
const EXPLORATION: ChartGroup = {
  title: "Does it still find anything new?",
  isOpen: true,
  charts: [
    {
      name: "train/exploration_bonus",
      title: "Pay for the unseen",
      help: "What a step earned for what was seen after it, on average, in the unit of the scaled rewards. It falls as the game becomes known, and jumps where something new is found.",
    },
    {
      name: "train/exploration_error",
      title: "Novelty",
      help: "How wrong the prediction of a random network is on what was seen: the raw size of what is paid for.",
    },
    {
      name: "train/exploration_explained_variance",
      title: "Novelty foreseen",
      help: "How well it is foreseen what the unseen will pay: 1 is perfectly, 0 is not at all. Only with a value head of its own.",
    },
  ],
};

/** What other metrics are called and tell, by name. */
const OTHERS: Readonly<Record<string, readonly [title: string, help: string]>> = {
  "rollout/episodes": ["Episodes per update", "Episodes that ended since the update before."],
  "rollout/episode_desynchronisation": [
    "How evenly games are spread",
    "How far apart the games are in their episodes, in steps (standard deviation). Near 0 they all end at once, and batches swing between beginnings and ends.",
  ],
  "eval/mean_reward": [
    "Evaluation return",
    "Mean return of episodes with fixed seeds and the most probable actions.",
  ],
  "eval/std_reward": ["Evaluation spread", "Standard deviation of the return of those episodes."],
  "eval/mean_ep_length": ["Evaluation length", "Mean length of those episodes, in steps."],
  "train/policy_lag_mean": [
    "Policy lag",
    "How many updates old the policy was that played, on average over the batch. 0 in sync, at most 1 in overlap.",
  ],
  "train/policy_lag_max": ["Largest policy lag", "How many updates old the oldest part of the batch was."],
  "train/learning_rate": ["Learning rate", "Of this update; it falls where the settings say so."],
  "train/loss": ["Loss", "Policy loss, value loss and entropy bonus, weighted and summed."],
  "train/grad_norm": [
    "Gradient norm",
    "Length of the gradient before it was clipped, mean over the minibatches.",
  ],
  "train/clip_range": ["Clip range", "Of this update; it falls where the settings say so."],
  "train/entropy_coef": ["Entropy bonus", "Weight of entropy in this update's loss."],
  "train/cloning_coef": [
    "Weight of demonstrations",
    "Of this update; it falls to nothing over the set share of the run.",
  ],
  "train/cloning_loss": [
    "Demonstrations' loss",
    "How unlikely the policy finds the demonstrated actions, in nats a step: 0 is certain of each. It falls while they are imitated.",
  ],
  "train/cloning_agreement": [
    "Demonstrations agreed with",
    "Share of the demonstrated steps in which the policy's likeliest action is the demonstrated one.",
  ],
  "train/cloning_epochs": ["Epochs of cloning", "Passes over the demonstrations before the first version."],
  "train/cloning_held_out_loss": [
    "Error on demonstrations held out",
    "On demonstrations that were not fitted to: the share of steps with another likeliest action or, of continuous actions, the loss.",
  ],
  "train/num_epochs": [
    "Epochs",
    "Passes over the batch; fewer than set when the KL divergence stopped the update.",
  ],
  "train/num_minibatches": ["Minibatches", "Optimizer steps of the update."],
  "train/prio_beta": [
    "Importance exponent",
    "How far importance weights correct for drawing segments by priority.",
  ],
  "train/prio_effective_segments": ["Effective segments", "Segments that the weighted draw was worth."],
  "train/prio_effective_share": [
    "Effective share",
    "The same as a share of the segments that could be drawn.",
  ],
  "train/prio_weight_max": ["Largest importance weight", "Their mean over what is drawn is 1."],
  "train/verify_refused_share": [
    "Refused segments",
    "Share of the batch that did not stand up to recomputation.",
  ],
  "train/verify_refused_difference": [
    "Deviation of what was refused",
    "The largest, where segments were refused.",
  ],
  "train/verify_largest_difference": [
    "Largest deviation of a worker",
    "Between what workers computed and what the learner computes again, in log-probabilities and values.",
  ],
  "train/vtrace_clipped_fraction": ["Clipped ratios", "Share of steps whose V-trace ratio was clipped."],
  "train/vtrace_rho_max": [
    "Largest V-trace ratio",
    "How much likelier the newest policy finds an action than the one that played it.",
  ],
  "train/vtrace_rho_mean": ["V-trace ratio", "Mean of those ratios; 1 without lag."],
  "time/fps": [
    "Steps trained per second",
    "Steps that the learner has used, per second since the update before.",
  ],
  "time/total_timesteps": ["Steps trained", "Steps that the learner has used so far."],
  "time/collected_steps": ["Steps collected", "Steps that came in, refused ones included."],
  "time/iterations": ["Updates", "Updates so far."],
  "time/time_elapsed": ["Seconds", "Since the first games began."],
  "time/update_seconds": ["Update", "Seconds that the update took."],
  "time/idle_seconds": ["Learner waits", "Seconds that the learner waited for this batch."],
  "time/checkpoint_seconds": ["Checkpoint", "Seconds until this version was safe on disk."],
  "time/load_seconds": ["Loading", "Seconds that reading the batch took."],
  "time/warmup_seconds": ["Warm-up", "Seconds that setting the first observation statistics took."],
  "time/federated_seconds": ["Averaging", "Seconds that averaging with the other trainers took."],
  "fleet/hosts": ["Devices", "Pages that run workers, here and elsewhere."],
  "fleet/workers": ["Workers", "Threads that play now."],
  "fleet/episodes_per_minute": [
    "Episodes per minute",
    "Episodes that ended, per minute since the update before.",
  ],
  "fleet/worker_latency_mean": [
    "Rollout time",
    "Seconds from an order to play until all of it was there, on average.",
  ],
  "fleet/outstanding_leases": ["Open orders", "Rollouts that workers are playing or hold ready."],
  "fleet/leases_lapsed": [
    "Orders given up",
    "Rollouts of workers that went away or fell silent, since the start.",
  ],
  "fleet/blocks_refused": [
    "Parts refused",
    "Parts of rollouts that came too late or were not usable, since the start.",
  ],
  "fleet/sockets_refused": [
    "Connections refused",
    "Connections that were turned away or closed, since the server started.",
  ],
  "fleet/game_fraction": ["Time in the game", "Share of the workers' time that the game itself took."],
  "fleet/inference_fraction": ["Time in the policy", "Share of the workers' time that the policy took."],
  "fleet/wait_fraction": [
    "Workers wait",
    "Share of the workers' time without anything to play. High: give each worker more games.",
  ],
  "curriculum/lesson": ["Lesson", "Number of the lesson that is played, from 1."],
  "federated/round": ["Averaging round", "How often this trainer has averaged its policy with the others."],
  "federated/trainers": ["Trainers averaged", "Whose policies are in the last average; 1: nobody else's."],
};

/** The folded groups, by the first part of a metric's name. */
const FAMILIES: readonly (readonly [family: string, title: string])[] = [
  ["eval", "Evaluations"],
  ["eval_sampled", "Evaluations with sampled actions"],
  ["reward", "Reward terms"],
  ["game", "The game's own metrics"],
  ["rollout", "Episodes"],
  ["curriculum", "Lessons"],
  ["train", "Learning in detail"],
  ["fleet", "Workers and devices"],
  ["time", "Where the time goes"],
  ["federated", "Averaging between trainers"],
];
const REST = "Other metrics";

/** Names that say the same as another, which is charted instead. */
const ALIASES: Readonly<Record<string, string>> = { "train/entropy_loss": "train/entropy" };

const MAIN: Readonly<Record<string, ChartInfo>> = Object.fromEntries(
  [...CHARTS, EXPLORATION].flatMap(({ charts }) => charts.map((chart) => [chart.name, chart])),
);

/**
 * The charts for these metric names: what matters in every run first and open, then everything else, folded by what it is
 * about. The first group is whole even without a metric; other groups without any are left out. What there is of one
 * policy, or one agent, of several is charted beside the whole.
 */
export function chartGroups(names: readonly string[]): ChartGroup[] {
  const present = new Set(names);
  const used = new Set<string>();
  const groups: ChartGroup[] = [];
  for (const [i, group] of [...CHARTS, EXPLORATION].entries()) {
    const charts = group.charts.flatMap((chart) => [
      ...(i === 0 || present.has(chart.name) ? [chart] : []),
      ...names.filter((name) => parentOf(name) === chart.name).map(chartOf),
    ]);
    for (const { name } of charts) used.add(name);
    if (charts.length > 0) groups.push({ ...group, charts });
  }
  const rest = [...present].filter((name) => !used.has(name) && !present.has(aliasOf(name) ?? "")).sort();
  const families = new Set(FAMILIES.map(([family]) => family));
  for (const [family, title] of FAMILIES) {
    const charts = rest.filter((name) => familyOf(name) === family).map(chartOf);
    if (charts.length > 0) groups.push({ title, isOpen: family === "eval", charts });
  }
  const others = rest.filter((name) => !families.has(familyOf(name))).map(chartOf);
  if (others.length > 0) groups.push({ title: REST, isOpen: false, charts: others });
  return groups;
}

/** The name that `name` is a part of: `train/loss/scout` of `train/loss`; null for a whole one. */
function parentOf(name: string): string | null {
  const parts = name.split("/");
  return parts.length > 2 ? parts.slice(0, -1).join("/") : null;
}

function chartOf(name: string): ChartInfo {
  return { name, title: titleOf(name), help: helpOf(name) };
}

function helpOf(name: string): string {
  const parent = parentOf(name);
  const known = MAIN[name]?.help ?? OTHERS[name]?.[1];
  if (known !== undefined) return known;
  if (parent !== null && (MAIN[parent] ?? OTHERS[parent]) !== undefined)
    return `${helpOf(parent)} Of ${lastPart(name)} alone.`;
  if (familyOf(name) === "reward")
    return "What this term of the reward brings in an episode, weighted, on average over the episodes of the update.";
  if (familyOf(name) === "game")
    return "Reported by the game at the end of each episode, on average over the episodes of the update.";
  return `Recorded as ${name}.`;
}

function familyOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf("/")));
}

function aliasOf(name: string): string | undefined {
  const parent = parentOf(name);
  if (parent === null) return ALIASES[name];
  return ALIASES[parent] && `${ALIASES[parent]}/${name.slice(parent.length + 1)}`;
}

/** "fleet/worker_latency_mean" is "Rollout time"; one without a text of its own is its last part. */
export function titleOf(name: string): string {
  const parent = parentOf(name);
  if (parent !== null) return `${titleOf(parent)}: ${lastPart(name)}`;
  const known = MAIN[name]?.title ?? OTHERS[name]?.[0];
  if (known !== undefined) return known;
  const text = lastPart(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).replaceAll("_", " ");
}
