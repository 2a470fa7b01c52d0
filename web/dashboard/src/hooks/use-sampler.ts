/** The parameters of a run's game, drawn anew for each episode that is shown. */

import type { RunView } from "@attract/schema";
import { ParameterSampler } from "attract/parameters";
import { type RefObject, useRef } from "react";

/** A sampler of `parameters`, always of the newest: a new lesson counts from the next episode on. */
export function useSampler(parameters: RunView["parameters"]): RefObject<ParameterSampler> {
  const made = useRef<RunView["parameters"] | null>(null);
  const sampler = useRef<ParameterSampler>(null as never);
  if (made.current !== parameters) {
    made.current = parameters;
    sampler.current = new ParameterSampler(parameters);
  }
  return sampler;
}
