/** Frames of a game that lives in a page, closed after each test. */

import { afterEach } from "vitest";
import type { GameDefinition } from "../../../../web/sdk/src/contract.ts";
import { createInstance } from "../../../../web/sdk/src/group-instance.ts";
import type { Instance } from "../../../../web/sdk/src/instance.ts";
import { PageFrames, type PageFramesOptions } from "../../../../web/worker/src/page/page-frames.ts";

export const opened: PageFrames[] = [];

afterEach(() => {
  for (const frames of opened.splice(0)) frames.close();
});

/** For one copy. */
export function openFrames(definition: GameDefinition, options: Partial<PageFramesOptions> = {}): PageFrames {
  const frames = new PageFrames(definition, { base: location.href, maxCopies: 1, ...options });
  opened.push(frames);
  return frames;
}

/** As `openFrames`, with a frame that can be taken. */
export async function ready(
  definition: GameDefinition,
  options: Partial<PageFramesOptions> = {},
): Promise<PageFrames> {
  const frames = openFrames(definition, options);
  await frames.preload();
  return frames;
}

/** A copy in its first episode. */
export async function begun(
  definition: GameDefinition,
  options: Partial<PageFramesOptions> = {},
): Promise<Instance> {
  const instance = createInstance((await ready(definition, options)).definition, { seedLow: 7 });
  await instance.begin(0);
  return instance;
}
