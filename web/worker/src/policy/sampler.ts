/** Actions from a policy's outputs: drawn with the seeded stream (rule C5), or the most probable ones. */

import type { ActionSpace } from "attract/spaces";
import type { ActionSampler } from "./action-sampler.ts";
import { BinarySampler } from "./binary-sampler.ts";
import { CategoricalSampler } from "./categorical-sampler.ts";
import { GaussianSampler } from "./gaussian-sampler.ts";
import { MixedSampler } from "./mixed-sampler.ts";

/** The sampler of an action space, for `capacity` slots. */
export function createSampler(space: ActionSpace, capacity: number): ActionSampler {
  switch (space.kind) {
    case "discrete":
      return new CategoricalSampler([space.n], capacity, true);
    case "multi_discrete":
      return new CategoricalSampler(space.nvec, capacity, false);
    case "multi_binary":
      return new BinarySampler(space.n, capacity);
    case "box":
      return new GaussianSampler(space, capacity);
    case "mixed":
      return new MixedSampler(space, capacity);
  }
}
