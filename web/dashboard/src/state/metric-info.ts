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
        help: "Sum of all rewards in one episode, averaged over the last 100 episodes. Higher is better: this is the score.",
        nothing: "Comes with the first episode that ends",
      },
      {
        name: "rollout/ep_len_mean",
        title: "Episode length",
        help: "Steps per episode, averaged over the last 100 episodes. Whether long is good depends on the game.",
        nothing: "Comes with the first episode that ends",
      },
      {
        name: "fleet/steps_per_second",
        title: "Steps per second",
        help: "Decisions of all workers together, per second, over the last few seconds. More workers play more steps.",
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
        help: "How random the policy's actions are. It starts high and falls as the policy learns which actions are good. Near zero too early means that it stopped exploring.",
      },
      {
        name: "train/approx_kl",
        title: "KL divergence",
        help: "How much one update changed the policy. Usually under 0.05; large jumps mean the learning rate is too high.",
      },
      {
        name: "train/explained_variance",
        title: "Explained variance",
        help: "How well the value function predicts returns: 1 is perfect, 0 is no better than their mean.",
      },
      {
        name: "train/policy_gradient_loss",
        title: "Policy loss",
        help: "The loss that makes good actions likelier. It stays around zero; only large swings matter.",
      },
      {
        name: "train/value_loss",
        title: "Value loss",
        help: "Error of the predicted return. It often rises while the return rises, then falls.",
      },
      {
        name: "train/clip_fraction",
        title: "Clip fraction",
        help: "Share of steps in which PPO limited the change of the policy. 0.05 to 0.3 is usual.",
      },
    ],
  },
];

/** Charts of runs with an exploration bonus, in their order on the page. */
const EXPLORATION: ChartGroup = {
  title: "Does it still find anything new?",
  isOpen: true,
  charts: [
    {
      name: "train/exploration_bonus",
      title: "Intrinsic reward",
      help: "Mean bonus per step for new observations, in units of the scaled reward. It falls as the game becomes known, and rises when something new is found.",
    },
    {
      name: "train/exploration_error",
      title: "Novelty",
      help: "Prediction error of a random network on the observations: the intrinsic reward before scaling.",
    },
    {
      name: "train/exploration_explained_variance",
      title: "Intrinsic explained variance",
      help: "How well its own value head predicts intrinsic returns: 1 is perfect, 0 is no better than their mean. Only with such a head.",
    },
  ],
};

/** What other metrics are called and tell, by name. */
const OTHERS: Readonly<Record<string, readonly [title: string, help: string]>> = {
  "rollout/episodes": ["Episodes per update", "Episodes that ended since the previous update."],
  "rollout/reward_usual": ["Usual reward", "Geometric mean of the sizes of rewards other than 0."],
  "rollout/episode_desynchronisation": [
    "Spread of episode progress",
    "Standard deviation of the games' steps within their episodes. Near 0 all episodes end at once, and batches alternate between starts and ends.",
  ],
  "eval/mean_reward": [
    "Evaluation return",
    "Mean return of episodes with fixed seeds and the most probable actions.",
  ],
  "eval/std_reward": ["Evaluation spread", "Standard deviation of the return of those episodes."],
  "eval/mean_ep_length": ["Evaluation length", "Mean length of those episodes, in steps."],
  "train/policy_lag_mean": [
    "Policy lag",
    "Age in updates of the policy that played, averaged over the batch. 0 in sync mode, at most 1 in overlap mode.",
  ],
  "train/policy_lag_max": ["Largest policy lag", "Age in updates of the oldest policy in the batch."],
  "train/learning_rate": ["Learning rate", "Learning rate of this update; it falls if the settings say so."],
  "train/loss": ["Loss", "Policy loss, value loss and entropy bonus, weighted and summed."],
  "train/grad_norm": ["Gradient norm", "Norm of the gradient before clipping, mean over the minibatches."],
  "train/clip_range": ["Clip range", "Clip range of this update; it falls if the settings say so."],
  "train/entropy_coef": ["Entropy coefficient", "Weight of the entropy in this update's loss."],
  "train/cloning_coef": [
    "Cloning coefficient",
    "Weight of the demonstrations in this update's loss; it falls to 0 over the set share of the run.",
  ],
  "train/cloning_loss": [
    "Cloning loss",
    "Negative log-probability of the demonstrated actions, in nats per step. It falls while the policy imitates them.",
  ],
  "train/cloning_agreement": [
    "Cloning accuracy",
    "Share of demonstrated steps in which the policy's likeliest action is the demonstrated one.",
  ],
  "train/cloning_epochs": ["Cloning epochs", "Passes over the demonstrations before the first version."],
  "train/cloning_held_out_loss": [
    "Held-out cloning error",
    "On demonstrations that were not trained on: the share of steps with another likeliest action, or the loss for continuous actions.",
  ],
  "train/num_epochs": [
    "Epochs",
    "Passes over the batch; fewer than set if the KL divergence stopped the update.",
  ],
  "train/num_minibatches": ["Minibatches", "Optimizer steps of the update."],
  "train/prio_beta": [
    "Importance exponent",
    "How far importance weights correct for prioritised sampling of segments.",
  ],
  "train/prio_effective_segments": [
    "Effective segments",
    "Effective sample size of the prioritised segments.",
  ],
  "train/prio_effective_share": ["Effective share", "Effective segments as a share of all segments."],
  "train/prio_weight_max": ["Largest importance weight", "The mean weight of the sampled segments is 1."],
  "train/verify_refused_share": [
    "Refused segments",
    "Share of the batch that recomputation did not confirm.",
  ],
  "train/verify_refused_difference": [
    "Largest refused deviation",
    "Largest deviation among the refused segments.",
  ],
  "train/verify_largest_difference": [
    "Largest deviation of a worker",
    "Difference between a worker's results and the learner's recomputation, in log-probabilities and values.",
  ],
  "train/vtrace_clipped_fraction": ["Clipped ratios", "Share of steps whose V-trace ratio was clipped."],
  "train/vtrace_rho_max": [
    "Largest V-trace ratio",
    "Largest ratio of an action's probability under the newest policy to that under the policy that played.",
  ],
  "train/vtrace_rho_mean": ["V-trace ratio", "Mean ratio of those probabilities; 1 without lag."],
  "time/fps": [
    "Steps trained per second",
    "Steps that the learner used per second since the previous update.",
  ],
  "time/total_timesteps": ["Steps trained", "Steps that the learner has used so far."],
  "time/collected_steps": ["Steps collected", "Steps received, including refused ones."],
  "time/iterations": ["Updates", "Updates so far."],
  "time/time_elapsed": ["Seconds", "Since the first games began."],
  "time/update_seconds": ["Update", "Seconds that the update took."],
  "time/idle_seconds": ["Learner wait", "Seconds that the learner waited for this batch."],
  "time/checkpoint_seconds": ["Checkpoint", "Seconds until this version was stored on disk."],
  "time/load_seconds": ["Loading", "Seconds that reading the batch took."],
  "time/warmup_seconds": ["Warm-up", "Seconds that the first observation statistics took."],
  "time/federated_seconds": ["Averaging", "Seconds that averaging with the other trainers took."],
  "fleet/hosts": ["Devices", "Pages that run workers, on this and other machines."],
  "fleet/workers": ["Workers", "Threads that play games now."],
  "fleet/episodes_per_minute": [
    "Episodes per minute",
    "Episodes that ended per minute since the previous update.",
  ],
  "fleet/worker_latency_mean": [
    "Rollout time",
    "Mean seconds from a rollout request until all of its data arrived.",
  ],
  "fleet/outstanding_leases": ["Open rollouts", "Rollouts that workers are playing or will play next."],
  "fleet/leases_lapsed": [
    "Lost rollouts",
    "Rollouts of workers that disconnected or stopped answering, since the start.",
  ],
  "fleet/blocks_refused": [
    "Refused blocks",
    "Blocks of rollouts that came too late or were invalid, since the start.",
  ],
  "fleet/sockets_refused": [
    "Connections refused",
    "Connections that the server refused or closed, since it started.",
  ],
  "fleet/game_fraction": ["Time in the game", "Share of the workers' time spent in the game."],
  "fleet/inference_fraction": ["Time in the policy", "Share of the workers' time spent in the policy."],
  "fleet/wait_fraction": [
    "Workers wait",
    "Share of the workers' time without work. If high, give each worker more games.",
  ],
  "curriculum/lesson": ["Lesson", "Number of the current lesson, from 1."],
  "federated/round": [
    "Averaging round",
    "Number of times this trainer has averaged its policy with the others.",
  ],
  "federated/trainers": [
    "Trainers averaged",
    "Trainers whose policies are in the last average; 1: only this one.",
  ],
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
    return `${helpOf(parent)} For ${lastPart(name)} only.`;
  if (familyOf(name) === "reward")
    return "This term's weighted share of the return, averaged over the episodes of the update.";
  if (familyOf(name) === "game")
    return "Reported by the game at the end of each episode, averaged over the episodes of the update.";
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
