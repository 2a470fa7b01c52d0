"""DQN's hyperparameters: what algorithms with a replay buffer share, the range of returns and exploration."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from attract.settings.base import Fraction
from attract.settings.off_policy import OffPolicySettings, around

ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    "return-fell": ("Lower the learning rate: `{setting}`", "--dqn.learning-rate 0.0001"),
    "short-sighted": ("Raise gamma, so that later rewards count: `{setting}`", "--dqn.gamma 0.99"),
    "entropy-collapsed/discrete": (
        "Keep more actions random: `{setting}`",
        "--dqn.exploration-final-eps 0.1",
    ),
    "entropy-collapsed/rate": ("Lower the learning rate: `{setting}`", "--dqn.learning-rate 0.0005"),
    "values-too-high": (
        "Let the target network follow more slowly: `{setting}`",
        "--dqn.tau 0.001",
    ),
    "explores-long": ("Explore for fewer steps: `{setting}`", "--dqn.exploration-fraction {fraction:.2g}"),
    "buffer-small": ("Give the buffer more memory: `{setting}`", "--dqn.buffer-mebibytes {mebibytes}"),
    "workers-wait": ("Take fewer gradient steps: `{setting}`", "--dqn.replay-ratio 0.1"),
}
REFUSES: Final[Mapping[str, str]] = {
    "policy.recurrent": "dqn learns from single steps of its replay buffer; "
    "a recurrent policy needs algorithm 'ppo', and policy.recurrent 'none' works",
    "exploration": "dqn explores by itself and its buffer keeps rewards as they were; 'none' works",
    "cloning.demonstrations": "dqn has no probabilities to fit to demonstrations; algorithm 'ppo' has",
    "federated": "the replay buffer of dqn is not averaged; algorithm 'ppo' averages",
    "box": "dqn chooses among finitely many actions; a box of real numbers needs algorithm 'sac' or 'ppo'",
    "mixed": "dqn chooses among finitely many actions; choices with real numbers need algorithm 'ppo'",
}


class DqnSettings(OffPolicySettings):
    """Settings of DQN with a categorical loss: it learns from few steps, by many gradient steps."""

    section: ClassVar[str] = "dqn"
    shares_trunk: ClassVar[bool] = True
    has_fused_steps: ClassVar[bool] = True
    chosen_by: ClassVar[tuple[str, ...]] = ("slow-page",)
    advice: ClassVar[Mapping[str, tuple[str, str]]] = ADVICE
    refuses: ClassVar[Mapping[str, str]] = REFUSES
    kept: ClassVar[tuple[str, ...]] = (*OffPolicySettings.kept, "return_limit")

    return_limit: Annotated[float, Field(gt=0, title="Limit of returns")] = 10.0
    """Largest discounted return, above or below 0, that is told from larger ones. With `normalize_rewards` in
    units of its deviation."""
    exploration_fraction: Fraction = 0.2
    """Share of `schedule_steps` over which exploration falls."""
    exploration_initial_eps: Annotated[Fraction, Field(title="Initial exploration")] = 1.0
    """Exploration at the start. Actions are drawn by their values (Boltzmann), as randomly on average as with
    this probability of a random action."""
    exploration_final_eps: Annotated[Fraction, Field(title="Final exploration")] = 0.02
    """Exploration at the end of `exploration_fraction`, and from there on."""

    @property
    def search_space(self) -> dict[str, Any]:
        return {
            **super().search_space,
            "exploration_fraction": around(self.exploration_fraction, 0.1, 0.2, 0.4),
        }
