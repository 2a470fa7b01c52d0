"""The gateway's own metrics of an update: returns, lengths, speed, where the workers' time went."""

from collections import defaultdict

from attract.curriculum.window import RETURN
from attract.run.goal import Goal
from attract.schema.api import FleetView
from attract.schema.episodes import Episodes
from attract.schema.learner import Counters
from attract.schema.messages import RolloutClose


class Statistics:
    """Gathers between two updates, then gives a row of metrics; owned by the active run. Does no I/O."""

    def __init__(self, reward_terms: dict[str, float]) -> None:
        """`reward_terms`: weight by name, as the game declares them."""
        self._weights = reward_terms
        self._seconds: dict[str, float] = defaultdict(float)
        self._terms: dict[str, list[float]] = defaultdict(list)
        self._metrics: dict[str, list[float]] = defaultdict(list)
        self._latencies: list[float] = []
        self._episodes = 0
        self._at_limit = 0
        self._last_row = (0.0, 0)

    def lease_finished(self, seconds: float) -> None:
        """A training lease was played to its end, so long after its issue."""
        self._latencies.append(seconds)

    def closed(self, close: RolloutClose) -> None:
        """A worker's own account of where its time went."""
        self._seconds["play"] += close.play_seconds
        self._seconds["game"] += close.game_seconds
        self._seconds["inference"] += close.inference_seconds
        self._seconds["wait"] += close.wait_seconds

    def count(self, episodes: Episodes) -> None:
        """Finished training episodes; cut ones stay out (E1)."""
        finished = episodes.finished()
        self._episodes += len(finished)
        self._at_limit += finished.columns.end_reason.count("time_limit")
        for name, values in finished.columns.metrics.items():
            self._metrics[name] += [value for value in values if value is not None]
        for name, values in finished.columns.reward_terms.items():
            weight = self._weights.get(name, 1.0)
            self._terms[name] += [value * weight for value in values if value is not None]

    def row(
        self, learner: dict[str, float], counters: Counters, seconds: float, goal: Goal, fleet: FleetView
    ) -> dict[str, float]:
        """One update's metrics under SB3's names; resets what was gathered.

        `seconds`: since the run's first lease. `time/fps` is the speed since the row before, in agent steps.
        """
        values = {**learner, **self.values(counters, seconds, goal, fleet)}
        self._last_row = (seconds, counters.agent_steps)
        self._latencies.clear()
        self._terms.clear()
        self._metrics.clear()
        self._seconds.clear()
        self._episodes = self._at_limit = 0
        return values

    def values(self, counters: Counters, seconds: float, goal: Goal, fleet: FleetView) -> dict[str, float]:
        """What has been gathered so far, as `row` gives it."""
        last_seconds, last_steps = self._last_row
        values: dict[str, float] = {}
        window = goal.window
        if window.return_mean is not None and window.length_mean is not None:
            values["rollout/ep_rew_mean"] = window.return_mean
            values["rollout/ep_rew_std"] = window.std(RETURN) or 0.0
            values["rollout/ep_len_mean"] = window.length_mean
        for agent, mean in enumerate(window.agent_return_means):
            values[f"rollout/ep_rew_mean/agent_{agent}"] = mean
        values["rollout/episodes"] = float(self._episodes)
        if self._episodes:
            values["rollout/time_limit_share"] = self._at_limit / self._episodes
        values["time/total_timesteps"] = float(counters.agent_steps)
        values["time/collected_steps"] = float(counters.collected_steps)
        values["time/iterations"] = float(counters.updates)
        values["time/time_elapsed"] = seconds
        if seconds > last_seconds and counters.agent_steps > last_steps:
            values["time/fps"] = (counters.agent_steps - last_steps) / (seconds - last_seconds)
        if seconds > last_seconds:
            values["fleet/episodes_per_minute"] = 60.0 * self._episodes / (seconds - last_seconds)
        if self._latencies:
            values["fleet/worker_latency_mean"] = sum(self._latencies) / len(self._latencies)
        values["fleet/outstanding_leases"] = float(fleet.leases_open)
        values["fleet/hosts"] = float(fleet.num_hosts)
        values["fleet/workers"] = float(
            sum(worker.state != "gone" for host in fleet.hosts for worker in host.workers)
        )
        values["fleet/instances"] = float(
            sum(
                worker.num_instances
                for host in fleet.hosts
                for worker in host.workers
                if worker.state != "gone"
            )
        )
        values["fleet/steps_per_second"] = fleet.steps_per_second
        values["fleet/leases_lapsed"] = float(fleet.leases_lapsed)
        values["fleet/blocks_refused"] = float(fleet.blocks_refused)
        values["fleet/sockets_refused"] = float(fleet.sockets_refused)
        values.update(self._fractions())
        for kind, by_name in (("reward", self._terms), ("game", self._metrics)):
            for name, numbers in by_name.items():
                if numbers:
                    values[f"{kind}/{name}"] = sum(numbers) / len(numbers)
        return values

    def _fractions(self) -> dict[str, float]:
        total = self._seconds["play"] + self._seconds["wait"]
        if total <= 0:
            return {}
        return {
            f"fleet/{part}_fraction": self._seconds[part] / total for part in ("game", "inference", "wait")
        }
