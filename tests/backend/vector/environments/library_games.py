"""Games that Gymnasium, PettingZoo and Stable-Baselines3 are shown: with every kind of space and of end."""

from pathlib import Path

GAMES = {
    # Sees its tick, a choice and its own last action; may not take action 0 in odd ticks.
    "counter.js": """
import { defineGame, box, discrete, dict, multiDiscrete } from "attract";
export default defineGame({
  id: "Counter-v1", tickSeconds: 0.1, maxSeconds: 0.7,
  observation: dict({
    tick: box({ shape: [1], low: 0, high: 9 }), last: discrete(3), pair: multiDiscrete([2, 4]),
  }),
  action: discrete(["wait", "go", "fall"]), actionMask: true,
  metrics: { falls: "sum" },
  create: () => {
    let ticks = 0, last = 0;
    const see = (out) => {
      out.actionMask.set([ticks % 2 === 0 ? 1 : 0, 1, 1]);
      return { tick: [ticks], last, pair: [ticks % 2, ticks % 4] };
    };
    return {
      start({ out }) { ticks = 0; last = 0; return see(out); },
      update(_, action, out) {
        ticks++; last = action;
        const falls = action === 2;
        const terminated = falls && ticks > 1;
        return { observation: see(out), reward: action, terminated, info: { falls: falls ? 1 : 0 } };
      },
    };
  },
});
""",
    # Is rewarded with the action itself, in its own units; throws in the tick after it was told 9.
    "dial.js": """
import { defineGame, box } from "attract";
export default defineGame({
  id: "Dial-v1", tickSeconds: 0.1, maxSeconds: 0.5,
  observation: box({ shape: [2] }), action: box({ shape: [2], low: [-2, 0], high: [2, 10] }),
  create: () => {
    let ticks = 0, random = 0;
    return {
      start(context) { ticks = 0; random = context.random(); return [ticks, random]; },
      update(_, action) {
        if (action[1] > 9.5) throw new Error("the dial broke");
        ticks++;
        return { observation: [ticks, random], reward: action[0] + 100 * action[1], terminated: false };
      },
    };
  },
});
""",
    # Agent a is out after a + 1 steps, terminated; the last one is truncated by the time limit.
    "leavers.js": """
import { defineGame, box, multiBinary } from "attract";
export default defineGame({
  id: "Leavers-v1", tickSeconds: 0.1, maxSeconds: 0.3, numAgents: 3,
  observation: box({ shape: [2], low: 0, high: 9 }), action: multiBinary(2),
  create: () => {
    let ticks = 0;
    const see = () => [0, 1, 2].map((agent) => [agent, ticks]);
    return {
      start() { ticks = 0; return see(); },
      update(_, actions) {
        ticks++;
        return {
          observation: see(),
          reward: [0, 1, 2].map((agent) => (ticks <= agent + 1 ? 1 + actions[agent][1] : 0)),
          terminated: [0, 1, 2].map((agent) => agent < 2 && ticks === agent + 1),
        };
      },
    };
  },
});
""",
    # Agent 0 ends at its third step and is back two steps later, agent 1 ends and is back in the same step,
    # agent 2 joins at step 4. Each reward is the step's number plus a hundred times the agent's action.
    "comers.js": """
import { defineGame, box, discrete } from "attract";
export default defineGame({
  id: "Comers-v1", tickSeconds: 0.1, numAgents: 3,
  observation: box({ shape: [2], low: 0, high: 9 }), action: discrete(2),
  create: () => {
    let ticks = 0;
    const see = () => [0, 1, 2].map((agent) => [agent, ticks]);
    return {
      start() { ticks = 0; return { observation: see(), active: [true, true, false] }; },
      update(_, actions) {
        ticks++;
        return {
          observation: see(),
          reward: [0, 1, 2].map((agent) => ticks + 100 * actions[agent]),
          terminated: [ticks === 3, ticks === 2, false],
          active: [ticks < 3 || ticks >= 5, true, ticks >= 4],
          truncated: ticks === 7,
        };
      },
    };
  },
});
""",
}


def write_games(folder: Path) -> Path:
    """The folder, with each of `GAMES` in it."""
    for name, code in GAMES.items():
        (folder / name).write_text(code)
    return folder
