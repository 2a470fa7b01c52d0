/** Numbers, durations and dates as the dashboard writes them: short, and the same width while they change. */

const NONE = "–";

/** 950 -> "950", 12345 -> "12.3k", 1.2e6 -> "1.2M"; null and NaN -> an en dash. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}B`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  return Math.round(value).toLocaleString("en-US");
}

/** Three significant digits, whole numbers whole; exponents only below 0.0001. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 999.5 || Number.isInteger(value)) return formatCount(value);
  return size >= 1e-4 ? value.toPrecision(3) : value.toExponential(2);
}

/** 5 -> "5 s", 65 -> "1:05", 3700 -> "1:01:40". */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, "0");
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/** "just now", "5 min ago", "3 h ago", or the date. `now` in milliseconds since 1970. */
export function formatAge(created: string, now: number): string {
  const then = Date.parse(created);
  if (Number.isNaN(then)) return created;
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(then).toISOString().slice(0, 10);
}

/** How long something still works: "for 40 min more", "for 3 h more", or until which date. */
export function formatUntil(expires: string, now: number): string {
  const then = Date.parse(expires);
  if (Number.isNaN(then)) return `until ${expires}`;
  const minutes = Math.ceil((then - now) / 60_000);
  if (minutes < 120) return `for ${Math.max(0, minutes)} min more`;
  if (minutes < 48 * 60) return `for ${Math.round(minutes / 60)} h more`;
  return `until ${new Date(then).toISOString().slice(0, 10)}`;
}

/** Values of an axis's ticks, `step` apart: as many digits as tell each from the next, all in the unit of the largest. */
export function formatTicks(ticks: readonly number[], step: number): string[] {
  const most = Math.max(...ticks.map(Math.abs));
  const { unit, name } = UNITS.find(({ from }) => most >= from) ?? { unit: 1, name: "" };
  const digits = digitsOf(step / unit);
  if (digits > MAX_DIGITS) {
    // One digit more than from the step up to the largest value.
    const precise = Math.min(6, Math.max(0, Math.ceil(Math.log10(most / step) - 1e-9)));
    return ticks.map((tick) => (tick === 0 ? "0" : tick.toExponential(precise)));
  }
  return ticks.map((tick) => (isNothing(tick, step) ? "0" : `${(tick / unit).toFixed(digits)}${name}`));
}

/** The same for an axis of seconds: "5 s", "1:05", "1:01:40". */
export function formatTimeTicks(ticks: readonly number[], step: number): string[] {
  if (step < 1) return ticks.map((tick) => `${tick.toFixed(digitsOf(step))} s`);
  return ticks.map(formatDuration);
}

/** As `formatCount` has them. */
const UNITS: readonly { from: number; unit: number; name: string }[] = [
  { from: 1e9, unit: 1e9, name: "B" },
  { from: 1e6, unit: 1e6, name: "M" },
  { from: 1e4, unit: 1e3, name: "k" },
];
/** Decimals of a tick label; a label that needs more is written as a power of ten. */
const MAX_DIGITS = 5;

/** Decimals that tell numbers `step` apart. */
function digitsOf(step: number): number {
  for (let digits = 0; digits <= MAX_DIGITS; digits++) {
    const scaled = step * 10 ** digits;
    if (scaled >= 0.999 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return MAX_DIGITS + 1;
}

function isNothing(tick: number, step: number): boolean {
  return Math.abs(tick) < step * 1e-6;
}

/** The browser and system in a user agent, for a table: "Chrome on Linux". */
export function formatDevice(userAgent: string): string {
  const browser =
    [
      ["HeadlessChrome", "Headless Chromium"],
      ["Edg/", "Edge"],
      ["OPR/", "Opera"],
      ["Firefox/", "Firefox"],
      ["Chrome/", "Chrome"],
      ["Safari/", "Safari"],
    ].find(([mark]) => userAgent.includes(mark))?.[1] ?? "Browser";
  const system =
    [
      ["Android", "Android"],
      ["iPhone", "iPhone"],
      ["iPad", "iPad"],
      ["Windows", "Windows"],
      ["Mac OS X", "Mac"],
      ["CrOS", "ChromeOS"],
      ["Linux", "Linux"],
    ].find(([mark]) => userAgent.includes(mark))?.[1] ?? null;
  return system === null ? browser : `${browser} on ${system}`;
}

function trim(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, "");
}

/** "1 worker", "2 workers". */
export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
