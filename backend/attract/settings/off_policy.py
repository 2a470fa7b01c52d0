"""Settings that algorithms with a replay buffer share: the buffer, gradient steps and targets."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from attract.settings.algorithm import GameContext, RunContext
from attract.settings.base import Fraction, Positive, ScheduleName, Settings

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "reflex": {"gamma": 0.98},
    "long-run": {"gamma": 0.998},
}


class OffPolicySettings(Settings):
    """What DQN and SAC have in common."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    chosen_by: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...]] = ("batch_segments",)
    kept: ClassVar[tuple[str, ...]] = ("normalize_observations",)
    studied_copies: ClassVar[tuple[int, ...]] = (4, 8, 16)
    shares_trunk: ClassVar[bool] = False
    has_fused_steps: ClassVar[bool] = False

    horizon: Annotated[int, Field(ge=1, le=65_536)] = 16
    """Steps per segment. An update follows one segment of every agent."""
    batch_segments: Positive | None = None
    """Segments per update. None: one rollout of the whole fleet."""
    replay_ratio: Annotated[float, Field(gt=0, le=64)] = 0.5
    """Gradient steps per agent step. More learn more from each step, and take more time."""
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 64
    """Steps of each gradient step, drawn evenly from the replay buffer."""
    buffer_size: Positive = 1_000_000
    """Maximum steps in each policy's replay buffer; new ones then replace the oldest."""
    buffer_mebibytes: Annotated[Positive, Field(title="Buffer memory (MiB)")] = 1024
    """Maximum memory of each policy's replay buffer in MiB. It lowers `buffer_size` where observations are
    large."""
    save_buffer_minutes: Annotated[
        Annotated[float, Field(gt=0)] | None, Field(title="Save the buffer (minutes)")
    ] = None
    """Minutes between saves of the replay buffer beside the checkpoints; it is also saved when the run stops.
    None: it is not saved, and a resumed run fills it again."""
    learning_starts: Annotated[int, Field(ge=0)] = 1000
    """Steps in the buffer before the first gradient step."""
    learning_rate: Annotated[float, Field(gt=0)] = 5e-4
    """Step size of the optimizer, Adam."""
    learning_rate_schedule: Annotated[ScheduleName, Field(title="Learning rate schedule")] = "constant"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    gamma: Annotated[Fraction, Field(title="Discount (gamma)")] = 0.99
    """Discount per step, not per tick. 0.99 looks about 100 steps ahead, 0.999 about 1,000."""
    n_steps: Annotated[int, Field(ge=1, le=64, title="Steps of returns")] = 1
    """Rewards that a target sums before it bootstraps. More spread rewards faster, and depend more on the
    policies that played."""
    tau: Annotated[float, Field(gt=0, le=1, title="Target update (tau)")] = 0.005
    """Share by which the target network follows the network after each gradient step. 1: it is the same."""
    max_grad_norm: Annotated[Annotated[float, Field(gt=0)] | None, Field(title="Max gradient norm")] = 10.0
    """Gradients with a larger norm are scaled down to it. None: not clipped."""
    normalize_rewards: bool = True
    """Divide rewards by the running scale of the discounted returns, so that a game's reward unit does not
    matter. Reports show raw rewards."""
    normalize_observations: bool = True
    """Normalise observations by running mean and variance, inside the ONNX graph; uint8 is never
    normalised."""
    schedule_steps: Positive | None = None
    """Agent steps over which schedules run; afterwards the values stay constant. None: the run's total, or
    1,000,000 without one."""

    @property
    def rollout_segments(self) -> int:
        """Segments of each slot under one lease."""
        return 1

    @property
    def n_epochs(self) -> int:
        """How often each step is drawn on average, at least 1."""
        return max(1, round(self.replay_ratio * self.batch_size))

    @property
    def scheduled_rates(self) -> list[str]:
        falls = self.learning_rate_schedule != "constant"
        return ["learning_rate"] if falls else []

    @property
    def search_space(self) -> dict[str, Any]:
        rate, size = self.learning_rate, self.batch_size
        return {
            "learning_rate": {"low": rate / 5, "high": max(rate, min(rate * 4, 0.02)), "log": True},
            "tau": {"low": self.tau / 4, "high": min(self.tau * 4, 1.0), "log": True},
            "gamma": around(self.gamma, 0.97, 0.98, 0.99, 0.995),
            "replay_ratio": around(self.replay_ratio, 0.25, 0.5, 1.0),
            "n_steps": around(self.n_steps, 1, 3, 5),
            "batch_size": around(size, max(1, size // 2), 2 * size),
        }

    @staticmethod
    def promising(usual: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `AlgorithmSettings`: nothing was measured to be better than the defaults."""
        return []

    @staticmethod
    def drop_excluded(merged: dict[str, Any], given: Mapping[str, Any]) -> None:
        """See `AlgorithmSettings`: no setting excludes another."""

    def resolve(self, run: RunContext) -> dict[str, Any]:
        return {"schedule_steps": run.schedule_steps}

    def resolve_for_game(self, run: RunContext, game: GameContext) -> tuple[dict[str, Any], dict[str, str]]:
        return {}, {}

    def check_policy(self, *, is_recurrent: bool) -> None:
        """See `AlgorithmSettings`: `refuses` says all."""

    def check_batch(self, run: RunContext, segments: int, policy: str) -> None:
        """See `AlgorithmSettings`: any batch goes into the buffer."""

    def update_text(self, run: RunContext, segments: int) -> str:
        steps = self.replay_ratio * segments * self.horizon
        return (
            f"{self.batch_size} steps each, drawn from a buffer of up to {self.buffer_size:,} steps; "
            f"about {steps:,.0f} optimizer steps an update"
        )

    def lag_text(self, run: RunContext) -> str | None:
        """See `AlgorithmSettings`: steps of any version are learned from as they are."""
        return None


def around(base: Any, *values: Any) -> list[Any]:
    """The usual value first, then the others to try."""
    return [base, *(value for value in values if value != base)]
