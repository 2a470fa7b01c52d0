/** The start form as data: which settings it offers, what is sent for them, and what is wrong with what was typed. */

import type { RunView } from "@attract/schema";

export type FieldKind = "integer" | "number" | "choice" | "sizes" | "names";

export interface Field {
  /** Path in the run settings, for example `ppo.learning_rate`. */
  path: string;
  label: string;
  help: string;
  kind: FieldKind;
  /** What the server uses when nothing is sent; shown as the placeholder. */
  usual: string;
  min?: number;
  max?: number;
  choices?: readonly { value: string; label: string }[];
}

/** What was typed, by path; empty or missing means: the usual value. */
export type FormValues = Readonly<Record<string, string>>;

export const MAIN_FIELDS: readonly Field[] = [
  {
    path: "collection.num_workers",
    label: "Workers",
    help: "Threads that play the game. Training starts when this many have joined. About one per processor core is good.",
    kind: "integer",
    usual: "2",
    min: 1,
    max: 1024,
  },
  {
    path: "collection.instances_per_worker",
    label: "Games per worker",
    help: "Copies of the game each worker plays at once, as one batch. More is faster, up to a point.",
    kind: "integer",
    usual: "64",
    min: 1,
    max: 8192,
  },
  {
    path: "until_return",
    label: "Stop at return",
    help: "Ends the run once the mean return of the last 100 episodes is this, confirmed by an evaluation. Empty: no goal.",
    kind: "number",
    usual: "no goal",
  },
  {
    path: "total_steps",
    label: "Stop after steps",
    help: "Ends the run after this many steps. Empty: goes on until you stop it.",
    kind: "integer",
    usual: "no limit",
    min: 1,
  },
];

export const ADVANCED_FIELDS: readonly Field[] = [
  {
    path: "seed",
    label: "Seed",
    help: "Decides all chance. The same seed gives the same games.",
    kind: "integer",
    usual: "0",
    min: 0,
  },
  {
    path: "ppo.learning_rate",
    label: "Learning rate",
    help: "How large the learner's steps are. Too large: it breaks what it learned. Too small: it takes for ever.",
    kind: "number",
    usual: "0.0025",
    min: 0,
  },
  {
    path: "ppo.learning_rate_schedule",
    label: "Learning rate over time",
    help: "Linear lets it fall to zero at the last step, which needs a step limit.",
    kind: "choice",
    usual: "constant",
    choices: [
      { value: "constant", label: "Constant" },
      { value: "linear", label: "Falls to zero" },
    ],
  },
  {
    path: "ppo.gamma",
    label: "Discount (gamma)",
    help: "How much the future counts. 0.99 looks about 100 steps ahead, 0.999 about 1,000.",
    kind: "number",
    usual: "0.99",
    min: 0,
    max: 1,
  },
  {
    path: "ppo.entropy_coef",
    label: "Entropy bonus",
    help: "Reward for staying curious. Raise it a little (0.01) when the policy settles too early.",
    kind: "number",
    usual: "0",
    min: 0,
  },
  {
    path: "ppo.clip_range",
    label: "Clip range",
    help: "How far one update may move the policy.",
    kind: "number",
    usual: "0.2",
    min: 0,
  },
  {
    path: "ppo.n_epochs",
    label: "Epochs",
    help: "How often each batch is learned from.",
    kind: "integer",
    usual: "4",
    min: 1,
  },
  {
    path: "ppo.rollout_steps",
    label: "Steps per rollout",
    help: "Steps each game plays between updates; a multiple of the segment length, which is 32 as a rule.",
    kind: "integer",
    usual: "one segment",
    min: 1,
  },
  {
    path: "policy.hidden_sizes",
    label: "Network",
    help: "Units in each hidden layer, separated by commas.",
    kind: "sizes",
    usual: "64, 64",
  },
  {
    path: "collection.seats",
    label: "Policies",
    help: "For games of several agents: the name of the policy that plays each, in the agents' order, separated by commas. The same name is the same policy, each name learns from its own agents alone. Empty: one policy plays them all.",
    kind: "names",
    usual: "one for all",
  },
  {
    path: "collection.schedule",
    label: "Schedule",
    help: "Overlap plays the next batch while the learner works on the last. In turn is slower but repeats exactly. Ahead also plays while a batch waits, and corrects for the age of what it learns from.",
    kind: "choice",
    usual: "overlap",
    choices: [
      { value: "overlap", label: "Overlap (faster)" },
      { value: "sync", label: "In turn (repeatable)" },
      { value: "async", label: "Ahead (slow or uneven machines)" },
    ],
  },
];

/** What is wrong with `text` in `field`, or null. */
export function checkField(field: Field, text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === "" || field.kind === "choice") return null;
  if (field.kind === "sizes") {
    const isFine = trimmed.split(",").every((part) => /^\s*[1-9]\d*\s*$/.test(part));
    return isFine ? null : "Whole numbers with commas, such as 64, 64";
  }
  if (field.kind === "names") {
    const isFine = trimmed.split(",").every((part) => /^\s*[A-Za-z0-9][A-Za-z0-9._-]{0,59}\s*$/.test(part));
    return isFine ? null : "Names with commas, such as scout, keeper";
  }
  const value = Number(trimmed);
  if (!Number.isFinite(value)) return "Not a number";
  if (field.kind === "integer" && !Number.isInteger(value)) return "A whole number";
  if (field.min !== undefined && value < field.min) return `At least ${field.min}`;
  if (field.max !== undefined && value > field.max) return `At most ${field.max}`;
  return null;
}

/** The nested settings to send: only what was typed; what was left empty is the server's to decide. */
export function settingsFromForm(fields: readonly Field[], values: FormValues): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const field of fields) {
    const text = (values[field.path] ?? "").trim();
    if (text !== "") setPath(settings, field.path, parseValue(field, text));
  }
  return settings;
}

/** The number of workers this page should run by itself: one less than the cores, from 1 to 4. */
export function suggestedWorkers(cores: number): number {
  return Math.max(1, Math.min(4, cores - 1));
}

/** The number of workers a run waits for, from its settings; 2 where they do not say. */
export function workersOf(run: RunView): number {
  const collection = run.settings.collection as { num_workers?: unknown } | undefined;
  return typeof collection?.num_workers === "number" ? collection.num_workers : 2;
}

function parseValue(field: Field, text: string): unknown {
  if (field.kind === "choice") return text;
  if (field.kind === "sizes") return text.split(",").map(Number);
  if (field.kind === "names") return text.split(",").map((part) => part.trim());
  return Number(text);
}

function setPath(target: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split(".");
  const name = parts.pop() as string;
  let level = target;
  for (const part of parts) {
    level[part] ??= {};
    level = level[part] as Record<string, unknown>;
  }
  level[name] = value;
}
