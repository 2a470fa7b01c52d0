/** What a finding's card says, apart from how it looks. */

import type { Finding, SettingsForm } from "@attract/schema";

export interface TextPart {
  text: string;
  /** Whether it is something to type: it stood between backticks. */
  isCode: boolean;
}

/** The finding's id as a heading: "reward-constant" is "Reward constant". */
export function titleOfFinding(finding: Pick<Finding, "finding_id">): string {
  const words = finding.finding_id.replaceAll("-", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** What a finding's flag changes of a run's settings, by path: "--ppo.learning-rate 0.001" is ppo.learning_rate. */
export function changesOfFlag(
  flag: string,
  shortFlags: SettingsForm["short_flags"],
): Readonly<Record<string, string>> {
  const found = /^--(\S+?)[ =](.+)$/.exec(flag);
  if (found === null) return {};
  const name = found[1].replaceAll("-", "_");
  return { [shortFlags[name] ?? name]: found[2] };
}

/** A sentence with its full stop, cut where code begins and ends; it begins in upper case unless with a name. */
export function sentenceParts(sentence: string): TextPart[] {
  const isName = !/^[a-z]+ /.test(sentence);
  const whole = isName ? sentence : `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
  return `${whole}.`
    .split("`")
    .map((text, place) => ({ text, isCode: place % 2 === 1 }))
    .filter((part) => part.text !== "");
}
