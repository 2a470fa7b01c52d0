"""Stable-Baselines3's PPO, timed: `python -m attract_benchmarks.baselines.sb3`.

Reads a `BaselineRequest` on stdin and prints a `BaselineReport`.
"""

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest, Games
from attract_benchmarks.baselines.stopwatch import Stopwatch
from attract_benchmarks.baselines.zoo import create_ppo

WINDOW_EPISODES = 100


class Watcher(BaseCallback):
    """Notes when each update ended and when the goal was reached, and ends the training then."""

    def __init__(self, watch: Stopwatch, until_return: float | None) -> None:
        super().__init__()
        self.marks: list[tuple[float, int]] = []
        self.solved_seconds: float | None = None
        self._watch = watch
        self._until_return = until_return

    def _on_rollout_start(self) -> None:
        # Called first before there was any update.
        if self.num_timesteps:
            self.mark()

    def _on_step(self) -> bool:
        return self.solved_seconds is None

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer
        if self._until_return is None or episodes is None or len(episodes) < WINDOW_EPISODES:
            return
        if sum(episode["r"] for episode in episodes) / len(episodes) >= self._until_return:
            self.solved_seconds = self._watch.seconds

    def mark(self) -> None:
        """An update has ended."""
        self.marks.append((self._watch.seconds, self.num_timesteps))


def train(order: BaselineRequest) -> BaselineReport:
    """Train as ordered; the clock starts with `learn`."""
    environment = create_games(order.games, order.num_environments, order.seed)
    try:
        model = create_ppo(environment, order.settings, linear=order.linear, seed=order.seed)
        watch = Stopwatch()
        environment.step = watch.timed("games", environment.step)
        model.policy.forward = watch.timed("inference", model.policy.forward)
        model.train = watch.timed("learning", model.train)
        watcher = Watcher(watch, order.until_return)
        model.learn(order.iterations * order.num_environments * model.n_steps, callback=watcher)
        watcher.mark()
    finally:
        environment.close()
    return BaselineReport(watcher.marks, watcher.solved_seconds, watch.seconds_of)


def create_games(games: Games, count: int, seed: int) -> VecEnv:
    """`count` copies of a game as a vectorised environment that keeps episodes' returns."""
    if games == "gymnasium":
        return make_vec_env("CartPole-v1", count, seed=seed)
    if games == "page_evaluate":
        from attract_benchmarks.baselines.page_games import PageGames

        return VecMonitor(PageGames(count))
    if games == "real_time_pages":
        from attract_benchmarks.baselines.real_time_pages import RealTimePages

        return VecMonitor(RealTimePages(count))
    from attract_benchmarks.baselines.node_games import NodeGames

    return VecMonitor(NodeGames(count))


if __name__ == "__main__":
    train(BaselineRequest.read()).write()
