/**
 * Copies of a game for a trainer outside the browser: what a web developer writes between `update()` and a
 * trainer in Python. For games of one agent whose observation is one vector and which need no more of `random`
 * than numbers.
 */

/** @param {object} definition a game's default export @param {number} count copies */
export function createGames(definition, count) {
  const stepLimit = Math.round(definition.maxSeconds / definition.tickSeconds);
  const numInputs = definition.observation.shape[0];
  const copies = Array.from({ length: count }, () => ({
    game: definition.create(),
    out: { observation: new Float32Array(numInputs), actionMask: null },
    steps: 0,
  }));

  /** The first observation of a new episode. */
  function reset(index) {
    const copy = copies[index];
    copy.steps = 0;
    copy.game.start({ random: Math.random, parameters: {}, out: copy.out });
    return Array.from(copy.out.observation);
  }

  /** [observation, reward, terminated, truncated]; after either flag the caller resets. */
  function step(index, action) {
    const copy = copies[index];
    const { reward, terminated } = copy.game.update(definition.tickSeconds, action, copy.out);
    copy.steps++;
    return [Array.from(copy.out.observation), reward, terminated, !terminated && copy.steps >= stepLimit];
  }

  return { reset, step };
}
