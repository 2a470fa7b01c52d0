/** What a join link's fragment asks for. */

const MAX_WORKERS = 1024;

/** `token` is null when the fragment has none; `workers` without a number that works is one less than `cores`, 1 to 4. */
export function parseJoin(fragment: string, cores: number): { token: string | null; workers: number } {
  const search = new URLSearchParams(fragment.replace(/^#/, ""));
  const token = search.get("token") || null;
  const asked = Number(search.get("workers") ?? Number.NaN);
  const isUsable = Number.isInteger(asked) && asked >= 1 && asked <= MAX_WORKERS;
  return { token, workers: isUsable ? asked : Math.max(1, Math.min(4, cores - 1)) };
}
