"""Which metrics a threshold can name: those that a run of this game with these settings will have."""

from attract.curriculum.window import LENGTH, RETURN
from attract.errors import ConfigurationError, nearest_name
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

EVALUATION_PREFIX = {True: "eval/", False: "eval_sampled/"}
"""By whether the policy played deterministically."""
EVALUATION_METRICS = ("mean_reward", "std_reward", "mean_ep_length")


def check_metric(name: str, settings: RunSettings, game: GameDescription, *, setting: str) -> None:
    """Refuse a metric of `game/`, `reward/`, `rollout/` or `eval/` that this run will never have.

    Other names, such as `train/entropy`, are taken as they are: what they can be is the learner's to say.

    Raises: ConfigurationError: with the nearest name, or with what is missing.
    """
    family, _, rest = name.partition("/")
    if not rest:
        raise ConfigurationError(
            f"{name!r} is no metric", setting=setting, fix=f"metric names look like {RETURN}"
        )
    known: dict[str, list[str]] = {
        "game": [f"game/{metric}" for metric in game.metrics],
        "reward": [f"reward/{term}" for term in game.reward_terms],
        "rollout": [RETURN, LENGTH],
        "eval": [f"eval/{metric}" for metric in EVALUATION_METRICS],
        "eval_sampled": [f"eval_sampled/{metric}" for metric in EVALUATION_METRICS],
    }
    if family in known and name not in known[family]:
        near = nearest_name(name, known[family])
        names = ", ".join(known[family]) or f"{game.id} declares none"
        fix = f"did you mean {near!r}?" if near else f"there are: {names}"
        raise ConfigurationError(f"this run has no metric {name!r}", setting=setting, fix=fix)
    mode = {"eval": "deterministic", "eval_sampled": "sampled"}.get(family)
    evaluation = settings.callbacks.evaluation
    if mode is not None and (evaluation is None or mode not in evaluation.modes):
        raise ConfigurationError(
            f"{name!r} comes from evaluations, but none are configured",
            setting=setting,
            fix=f"set callbacks.evaluation.every_episodes, with {mode!r} among its modes",
        )
