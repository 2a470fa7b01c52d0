"""SAC's hyperparameters: what algorithms with a replay buffer share, and the entropy that it keeps."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from attract.settings.off_policy import OffPolicySettings, around

ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    "return-fell": ("Lower the learning rate: `{setting}`", "--sac.learning-rate 0.0003"),
    "short-sighted": ("Raise gamma, so that later rewards count: `{setting}`", "--sac.gamma 0.99"),
    "entropy-collapsed/continuous": ("Keep more entropy: `{setting}`", "--sac.target-entropy 0"),
    "entropy-collapsed/rate": ("Lower the learning rate: `{setting}`", "--sac.learning-rate 0.001"),
    "values-too-high": (
        "Let the target network follow more slowly: `{setting}`",
        "--sac.tau 0.002",
    ),
    "buffer-small": ("Give the buffer more memory: `{setting}`", "--sac.buffer-mebibytes {mebibytes}"),
    "workers-wait": ("Take fewer gradient steps: `{setting}`", "--sac.replay-ratio 0.25"),
}
_CHOICES = "sac moves real numbers; for choices algorithm 'dqn' or 'ppo' works"
REFUSES: Final[Mapping[str, str]] = {
    "policy.recurrent": "sac learns from single steps of its replay buffer; "
    "a recurrent policy needs algorithm 'ppo', and policy.recurrent 'none' works",
    "exploration": "sac explores by itself and its buffer keeps rewards as they were; 'none' works",
    "cloning.demonstrations": "sac does not fit demonstrations; algorithm 'ppo' does",
    "federated": "the replay buffer of sac is not averaged; algorithm 'ppo' averages",
    "discrete": _CHOICES,
    "multi_discrete": _CHOICES,
    "multi_binary": _CHOICES,
    "mixed": "sac moves real numbers; choices with real numbers need algorithm 'ppo'",
}


class SacSettings(OffPolicySettings):
    """Settings of SAC (soft actor-critic): it learns continuous actions from few steps."""

    section: ClassVar[str] = "sac"
    advice: ClassVar[Mapping[str, tuple[str, str]]] = ADVICE
    refuses: ClassVar[Mapping[str, str]] = REFUSES

    replay_ratio: Annotated[float, Field(gt=0, le=64)] = 1.0
    """Gradient steps per agent step. More learn more from each step, and take more time."""
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 128
    """Steps of each gradient step, drawn evenly from the replay buffer."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    """Step size of the optimizer, Adam."""
    tau: Annotated[float, Field(gt=0, le=1, title="Target update (tau)")] = 0.01
    """Share by which the target network follows the network after each gradient step. 1: it is the same."""
    temperature: Annotated[float, Field(gt=0, title="Initial temperature")] = 0.01
    """Weight of the entropy at the start. It changes so that the entropy is `target_entropy`."""
    target_entropy: float = -1.0
    """Entropy that the policy keeps, nats for each number of an action, where a box goes from -1 to 1.
    -1 is a standard deviation of 0.09, 0 is 0.24."""

    @property
    def search_space(self) -> dict[str, Any]:
        return {**super().search_space, "target_entropy": around(self.target_entropy, -1.5, -1.0, -0.5, 0.0)}
