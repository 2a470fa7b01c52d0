/** What a finding's card says, apart from how it looks. */

import type { Finding } from "@attract/schema";

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

/** A sentence with its full stop, cut where code begins and ends; it begins in upper case unless with a name. */
export function sentenceParts(sentence: string): TextPart[] {
  const isName = !/^[a-z]+ /.test(sentence);
  const whole = isName ? sentence : `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
  return `${whole}.`
    .split("`")
    .map((text, place) => ({ text, isCode: place % 2 === 1 }))
    .filter((part) => part.text !== "");
}
