/** A recorded episode from a person's disk, checked before anything is played. */

import { type RecordedEpisode, recordedEpisode } from "@attract/schema";

/** A file of all that the format allows is smaller. */
export const MAX_FILE_BYTES = 8 * 2 ** 20;

/** The episode in a file. Rejects with an Error of one sentence. */
export async function readEpisodeFile(file: Pick<File, "name" | "size" | "text">): Promise<RecordedEpisode> {
  const { name, size } = file;
  if (size > MAX_FILE_BYTES)
    throw new Error(
      `${name} has ${megabytes(size)} MB; a recorded episode has at most ${megabytes(MAX_FILE_BYTES)} MB.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(await file.text());
  } catch {
    throw new Error(`${name} is no recorded episode: it is not JSON, or it is cut off.`);
  }
  if (
    typeof value !== "object" ||
    value === null ||
    !("format" in value) ||
    value.format !== "attract-episode"
  )
    throw new Error(`${name} is no recorded episode: it has no "format": "attract-episode".`);
  try {
    return recordedEpisode(value);
  } catch (error) {
    const text =
      error instanceof Error ? error.message.replace("replay_episodes.episodes.0.", "") : String(error);
    throw new Error(`${name} is damaged: ${text}.`);
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
