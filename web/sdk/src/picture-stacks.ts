/** Observations that are the pictures of the last steps, as a definition declares them: checked against its spaces. */

import type { GameDefinition } from "./contract.ts";
import { ConfigurationError, show } from "./errors.ts";

/** Name of an observation that is a plain box. */
export const PLAIN_OBSERVATION = "obs";

/**
 * How many pictures each stack of `definition` has, by the name of its observation.
 *
 * Raises ConfigurationError for a name or a shape that cannot be one.
 */
export function pictureStacks({ observation, pictureStacks }: GameDefinition): Record<string, number> {
  const spaces = observation.kind === "dict" ? observation.spaces : { [PLAIN_OBSERVATION]: observation };
  for (const [name, depth] of Object.entries(pictureStacks ?? {})) {
    const field = `pictureStacks.${name}`;
    if (!Object.hasOwn(spaces, name))
      throw new ConfigurationError(field, `is no observation; there are ${Object.keys(spaces).join(", ")}`);
    const space = spaces[name];
    if (space.kind !== "box" || space.dtype !== "uint8" || space.shape.length !== 3)
      throw new ConfigurationError(
        field,
        `must be a box of dtype "uint8" and shape [rows, columns, channels], got ${show(space)}`,
      );
    if (!Number.isInteger(depth))
      throw new ConfigurationError(field, `must be a whole number, got ${show(depth)}`);
    if (space.shape[2] % depth !== 0)
      throw new ConfigurationError(
        field,
        `${space.shape[2]} channels are not ${depth} pictures of equal size`,
      );
  }
  return { ...pictureStacks };
}
