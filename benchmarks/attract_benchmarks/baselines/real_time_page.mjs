/**
 * A game in its own page and in real time, for a trainer outside the browser: what a web developer writes between
 * the page and a trainer in Python. What it sees, presses and counts are the game's adapter's.
 */

/** @param {object} definition default export of an adapter with `keys` and `restart`, for one agent */
export function createEnvironment(definition) {
  const { page: adapter, action, maxSeconds, secondsPerStep } = definition;
  const framesPerStep = Math.round(60 * secondsPerStep);
  const stepLimit = Math.round(maxSeconds / secondsPerStep);
  let held = [];
  let score = 0;
  let steps = 0;
  adapter.loaded?.(window);

  function hold(codes) {
    const send = (type, code) =>
      window.dispatchEvent(new KeyboardEvent(type, { code, key: code, bubbles: true }));
    for (const code of held.filter((other) => !codes.includes(other))) send("keyup", code);
    for (const code of codes.filter((other) => !held.includes(other))) send("keydown", code);
    held = codes;
  }

  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

  /** The first observation of a new episode. */
  function reset() {
    hold([]);
    adapter.restart(window);
    score = adapter.score(window);
    steps = 0;
    return Array.from(adapter.observe(window));
  }

  /** [observation, reward, terminated, truncated]; after either flag the caller resets. */
  async function step(choice) {
    hold(adapter.keys[0][action.labels[choice]]);
    for (let i = 0; i < framesPerStep; i++) await frame();
    const reward = adapter.score(window) - score;
    score += reward;
    steps++;
    const terminated = Boolean(adapter.over(window));
    return [Array.from(adapter.observe(window)), reward, terminated, !terminated && steps >= stepLimit];
  }

  return { reset, step };
}
