/** A stranger's file is an episode, or one sentence says why not. */

import { describe, expect, test } from "vitest";
import golden from "../../../../shared_schema/golden/to_browser.replay_episodes.json";
import { MAX_FILE_BYTES, readEpisodeFile } from "../../../../web/dashboard/src/state/episode-file.ts";

const [EPISODE] = (golden as unknown as { episodes: Record<string, unknown>[] }).episodes;

const fileOf = (text: string, size = text.length) => ({
  name: "play.json",
  size,
  text: () => Promise.resolve(text),
});
const read = (value: unknown) => readEpisodeFile(fileOf(JSON.stringify(value)));

describe("a file", () => {
  test("of an episode is that episode", async () => {
    await expect(read(EPISODE)).resolves.toEqual(EPISODE);
  });

  test("that is too large is not read", async () => {
    const file = fileOf("{}", 100 * 2 ** 20);
    const large = { ...file, text: () => Promise.reject(new Error("it was read")) };
    await expect(readEpisodeFile(large)).rejects.toThrow(
      "play.json has 100 MB; a recorded episode has at most 8 MB.",
    );
    await expect(readEpisodeFile(fileOf(JSON.stringify(EPISODE), MAX_FILE_BYTES))).resolves.toEqual(EPISODE);
  });

  test.each([
    ["cut off", JSON.stringify(EPISODE).slice(0, -9), "it is not JSON, or it is cut off."],
    ["not JSON", "\u0000\u0001", "it is not JSON, or it is cut off."],
    ["a number", "3", 'it has no "format": "attract-episode".'],
    ["null", "null", 'it has no "format": "attract-episode".'],
    ["an old demonstration", '{"version":1,"actions":[[0]]}', 'it has no "format": "attract-episode".'],
  ])("%s is none", async (_, text, said) => {
    await expect(readEpisodeFile(fileOf(text))).rejects.toThrow(`play.json is no recorded episode: ${said}`);
  });

  test.each([
    ["seats", []],
    ["seats", undefined],
    ["parameters", { size: "large" }],
    ["version", 3],
    ["num_steps", -1],
    ["actions", { dtype: "float64", shape: [1, 1], deflated: false, data: "" }],
  ])("with another %s is damaged, which names it", async (field, value) => {
    await expect(read({ ...EPISODE, [field]: value })).rejects.toThrow(
      new RegExp(`^play\\.json is damaged: .*${field}`),
    );
  });
});
