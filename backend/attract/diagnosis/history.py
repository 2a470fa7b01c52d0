"""Summaries of a run's rows of metrics, as the symptoms read them."""

import math
from collections import deque
from collections.abc import Mapping
from statistics import median

from attract.diagnosis.verdict import Measured

KEPT_UPDATES = 60
"""Rows that are looked back on."""
BASELINE_EPISODES = 20
BASELINE_LENGTHS = 2
"""Steps of each slot, in mean lengths of an episode, until long episodes have ended as well as short ones;
and as many episodes as there are slots, as the first to end are short."""
UNTRAINED_UPDATES = 3
"""Episodes that ended no later were played by a policy that is still close to random."""
UNDECIDED = 0.9
"""So were those of a policy with this share of the largest entropy, or of its first actions' spread."""
NOW_UPDATES = 5
"""Rows over which the present return is taken."""
CERTAIN = 3.0
"""Standard errors by which a return must differ from another one."""
NOTICEABLE = 0.2
"""And untrained standard deviations."""
EVALUATIONS = ("eval/", "eval_sampled/")
"""Families of an evaluation's metrics."""
RETURN, RETURN_STD, EPISODES = "rollout/ep_rew_mean", "rollout/ep_rew_std", "rollout/episodes"
WINDOW_EPISODES = 100


class Returns:
    """Returns of some episodes: `mean`, `std` and `count`, in the game's units."""

    def __init__(self, mean: float, std: float, count: int) -> None:
        self.mean, self.std, self.count = mean, std, count

    def exceeds(self, other: "Returns") -> bool:
        """Whether it is better than `other` beyond chance, and by enough to matter."""
        noise = math.sqrt(self.std**2 / self.count + other.std**2 / other.count)
        difference = self.mean - other.mean
        return difference > max(CERTAIN * noise, NOTICEABLE * other.std, 1e-9 * abs(other.mean))


class History:
    """Owned by the diagnosis; `add` each row once, in order. Numbers are since the run's start."""

    def __init__(self, num_agents: int = 1) -> None:
        """`num_agents`: of the game."""
        self._num_agents = num_agents
        self.num_slots = num_agents
        """Agents of all games at once: the most so far."""
        self.update = 0
        self.agent_steps = 0
        self.num_updates = 0
        self.num_episodes = 0
        self.num_at_limit = 0.0
        """How many of these episodes ended by the time limit."""
        self.reward_low = math.inf
        self.reward_high = -math.inf
        """Minimum and maximum reward of a single step."""
        self._log_rewards = 0.0
        """Sum of the logarithms of the usual rewards, over the rows that have one."""
        self._num_rewarded = 0
        self.baseline: Returns | None = None
        """Returns of the first episodes."""
        self.baseline_length = 0.0
        """Their mean length in steps."""
        self.is_baseline_untrained = False
        """Whether an untrained policy played them, or one much like it."""
        self.earliest: Returns | None = None
        """Returns of the very first episodes: short ones, where some are short."""
        self.best: Returns | None = None
        self.has_improved = False
        """Whether the return was ever better than the baseline."""
        self.random: Measured | None = None
        """Random play, once it is measured."""
        self.evaluation: tuple[Returns, Returns] | None = None
        """The newest evaluation: its returns, and the training returns of that time."""
        self.constants: tuple[int, int, float] | None = None
        """Count of observation numbers that never changed, index and value of the first; None without one."""
        self._min_constants = math.inf
        self._rows: deque[Mapping[str, float]] = deque(maxlen=KEPT_UPDATES)
        self._steps: deque[int] = deque(maxlen=KEPT_UPDATES)
        """Agent steps of each kept row's batch."""

    def add(self, update: int, agent_steps: int, values: Mapping[str, float]) -> None:
        self._steps.append(agent_steps - self.agent_steps)
        self.update, self.agent_steps = update, agent_steps
        self.num_updates += 1
        num_slots = int(values.get("fleet/instances", 0)) * self._num_agents
        self.num_slots = max(self.num_slots, num_slots)
        self._rows.append(values)
        self.reward_low = min(self.reward_low, values.get("rollout/reward_min", math.inf))
        self.reward_high = max(self.reward_high, values.get("rollout/reward_max", -math.inf))
        if "rollout/reward_usual" in values:
            self._log_rewards += math.log(values["rollout/reward_usual"])
            self._num_rewarded += 1
        episodes = int(values.get(EPISODES, 0))
        self.num_episodes += episodes
        self.num_at_limit += episodes * values.get("rollout/time_limit_share", 0.0)
        self._follow_constants(values)
        if RETURN not in values:
            return
        if self.earliest is None and self.num_episodes >= BASELINE_EPISODES:
            self.earliest = self._newest(values)
        if self.baseline is None and self.num_episodes >= max(BASELINE_EPISODES, self.num_slots):
            length = values.get("rollout/ep_len_mean", 0.0)
            if agent_steps >= BASELINE_LENGTHS * length * self.num_slots:
                self.baseline, self.baseline_length = self._newest(values), length
                self.is_baseline_untrained = self._is_untrained()
        self.add_evaluation(values)
        now = self.now
        if now is None or self.baseline is None:
            return
        if now.exceeds(self.baseline):
            self.has_improved = True
        if self.best is None or now.mean > self.best.mean:
            self.best = now

    def add_evaluation(self, values: Mapping[str, float]) -> None:
        """The metrics of an evaluation, which may stand in an update's row."""
        now = self.now
        for family in EVALUATIONS:
            mean = values.get(f"{family}mean_reward")
            if mean is not None and now is not None:
                # How many episodes is not written: a few.
                found = Returns(mean, values.get(f"{family}std_reward", 0.0), BASELINE_EPISODES)
                self.evaluation = found, now

    @property
    def usual_reward(self) -> float | None:
        """Geometric mean of the sizes of rewards other than 0; None if there were none."""
        return math.exp(self._log_rewards / self._num_rewarded) if self._num_rewarded else None

    @property
    def now(self) -> Returns | None:
        """Returns of the newest episodes; None before the first have ended."""
        return self.returns_before(0)

    def returns_before(self, num_updates: int) -> Returns | None:
        """Returns of the newest episodes as of `num_updates` rows ago; None if there are none."""
        end = len(self._rows) - num_updates
        rows = [row for row in list(self._rows)[max(0, end - NOW_UPDATES) : max(0, end)] if RETURN in row]
        if not rows:
            return None
        means = [row[RETURN] for row in rows]
        deviations = [row.get(RETURN_STD, 0.0) for row in rows]
        # A row is about the last 100 episodes; those without new ones repeat the row before.
        episodes = int(sum(min(WINDOW_EPISODES, row.get(EPISODES, 0)) for row in rows))
        count = max(1, min(self.num_episodes, max(WINDOW_EPISODES, episodes)))
        return Returns(sum(means) / len(means), max(deviations), count)

    def has_stayed(self, num_updates: int) -> bool:
        """Whether the return is what it was `num_updates` rows ago; False where that is unknown."""
        now, before = self.now, self.returns_before(num_updates)
        return now is not None and before is not None and not now.exceeds(before) and not before.exceeds(now)

    def _follow_constants(self, values: Mapping[str, float]) -> None:
        """A restarted learner has seen little: an observation that once changed is not constant."""
        count = values.get("rollout/constant_observations", math.inf)
        if count > self._min_constants:
            return
        self._min_constants, self.constants = count, None
        place = values.get("rollout/first_constant_observation")
        value = values.get("rollout/first_constant_value")
        if count > 0 and place is not None and value is not None:
            self.constants = int(count), int(place), value

    def _newest(self, values: Mapping[str, float]) -> Returns:
        return Returns(values[RETURN], values.get(RETURN_STD, 0.0), min(self.num_episodes, WINDOW_EPISODES))

    def _is_untrained(self) -> bool:
        if self.num_updates <= UNTRAINED_UPDATES:
            return True
        shares = [self.median(name, UNTRAINED_UPDATES) for name, _ in self.policies("train/entropy_share")]
        spreads = [
            (self.median(name, UNTRAINED_UPDATES) or 0.0) / self._rows[0].get(name, 1.0)
            for name, _ in self.policies("train/action_spread")
        ]
        known = [share for share in (*shares, *spreads) if share is not None]
        return bool(known) and min(known) > UNDECIDED

    def constant_reward(self, num_updates: int) -> float | None:
        """The reward of each step of the newest rows; None where it varied, or an episode ended by itself."""
        rows = list(self._rows)[-num_updates:]
        rewards = {
            row.get(name, math.nan) for row in rows for name in ("rollout/reward_min", "rollout/reward_max")
        }
        is_cut = all(row.get("rollout/time_limit_share", 1.0) == 1.0 for row in rows)
        return rewards.pop() if len(rows) == num_updates and len(rewards) == 1 and is_cut else None

    def last(self, name: str) -> float | None:
        """A metric's newest value."""
        return next((row[name] for row in reversed(self._rows) if name in row), None)

    def median(self, name: str, num_updates: int) -> float | None:
        """Median of a metric over the newest rows; None unless at least half of that many have it."""
        values = [row[name] for row in list(self._rows)[-num_updates:] if name in row]
        return median(values) if len(values) >= max(1, num_updates // 2) else None

    def recent_steps(self, num_updates: int) -> int:
        """Agent steps of the newest rows; 0 unless there are so many."""
        steps = list(self._steps)[-num_updates:]
        return sum(steps) if len(steps) == num_updates else 0

    def speed(self, num_updates: int) -> float | None:
        """Agent steps a second over the newest rows, by what updates take and wait for; None if unknown."""
        update = self.median("time/update_seconds", num_updates)
        if update is None:
            return None
        seconds = update + (self.median("time/idle_seconds", num_updates) or 0.0)
        return median(list(self._steps)[-num_updates:]) / max(1e-6, seconds)

    def policies(self, name: str) -> list[tuple[str, str]]:
        """(metric, policy id) of each policy's own metric of that name; the id of a sole policy is empty."""
        if not self._rows:
            return []
        own = [row for row in self._rows[-1] if row == name or row.startswith(f"{name}/")]
        return [(metric, metric.removeprefix(name).removeprefix("/")) for metric in sorted(own)]

    def means(self, prefix: str) -> dict[str, float]:
        """Every metric with that prefix, its mean over the kept rows that have it."""
        found: dict[str, list[float]] = {}
        for row in self._rows:
            for name, value in row.items():
                if name.startswith(prefix):
                    found.setdefault(name, []).append(value)
        return {name: sum(values) / len(values) for name, values in found.items()}
