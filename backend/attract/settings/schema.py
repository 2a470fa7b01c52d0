"""The run settings as one JSON Schema for forms: titles, help and limits, generated from the classes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from attract.settings.run import RunSettings

COMMON: Final = ("collection.num_workers", "collection.instances_per_worker", "until_return", "total_steps")
"""Paths of the settings that a form shows first."""

WORDS: Final[Mapping[str, tuple[str | None, str | None]]] = {
    "seed": ("Seed", "Decides all chance. The same seed gives the same games."),
    "total_steps": (
        "Stop after steps",
        "Ends the run after this many steps. Empty: no limit, it goes on until you stop it.",
    ),
    "until_return": (
        "Stop at return",
        "Ends the run once the mean return of the last 100 episodes is this, confirmed by an evaluation. "
        "Empty: no goal.",
    ),
    "device": ("Device", "Where the learner computes. auto: a CUDA GPU where there is one."),
    "learner_threads": ("Learner threads", None),
    "policy": ("Network", None),
    "policy.hidden_sizes": ("Hidden layers", "Units in each hidden layer, separated by commas."),
    "policy.activation": ("Activation", "What follows each hidden layer."),
    "policy.cnn": ("Image encoder", None),
    "policy.recurrent": ("Memory", None),
    "policy.recurrent_size": ("Memory size", None),
    "policy.log_std_init": ("Initial log deviation", None),
    "ppo": ("Learning (PPO)", None),
    "ppo.num_minibatches": (
        "Number of minibatches",
        "Minibatches of each epoch; this or the steps of each, never both.",
    ),
    "ppo.n_epochs": ("Epochs", "How often each batch is learned from."),
    "ppo.learning_rate": (
        "Learning rate",
        "How large the learner's steps are. Too large: it breaks what it "
        "learned. Too small: it takes for ever.",
    ),
    "ppo.learning_rate_schedule": (
        "Learning rate over time",
        "constant: stays. linear: falls until the last step, which needs a number of steps.",
    ),
    "ppo.gamma": (
        "Discount (gamma)",
        "How much the future counts. 0.99 looks about 100 steps ahead, 0.999 about 1,000.",
    ),
    "ppo.gae_lambda": (
        "GAE lambda",
        "How far advantages trust what was really earned instead of what was foreseen: 1 is wholly. "
        "Empty: 0.9 where a picture is observed, otherwise 0.95.",
    ),
    "ppo.clip_range": ("Clip range", "How far one update may move the policy."),
    "ppo.clip_range_schedule": (
        "Clip range over time",
        "constant: stays. linear: falls until the last step.",
    ),
    "ppo.entropy_coef": (
        "Entropy bonus",
        "Reward for staying curious. Raise it a little (0.01) when the policy settles too early.",
    ),
    "ppo.entropy_coef_schedule": (
        "Entropy bonus over time",
        "constant: stays. linear: falls until the last step.",
    ),
    "ppo.value_coef": ("Value coefficient", "Weight of the value loss beside the policy's."),
    "ppo.max_grad_norm": (
        "Largest gradient norm",
        "Longer gradients are cut to this length. Empty: not cut.",
    ),
    "ppo.target_kl": ("Target KL", None),
    "exploration": (
        "Exploration",
        "rnd: pays for observations unlike those seen before, for games whose rewards chance never finds.",
    ),
    "rnd": ("Exploration (RND)", None),
    "rnd.coef": ("Weight of the unseen", None),
    "rnd.coef_schedule": (
        "Weight of the unseen over time",
        "constant: stays. linear: falls until the last step.",
    ),
    "rnd.value_head": ("Value of the unseen", None),
    "rnd.gamma": ("Discount of the unseen", None),
    "rnd.gae_lambda": ("GAE lambda of the unseen", None),
    "collection": ("Workers and games", None),
    "collection.schedule": (
        "Schedule",
        "overlap: plays the next batch while the learner works on the last. sync: in turn, slower, but "
        "repeats exactly. async: also plays while a batch waits, and corrects for the age of what it learns "
        "from.",
    ),
    "collection.num_workers": (
        "Workers",
        "Threads that play the game. Training starts when this many have joined. About one per processor "
        "core is good.",
    ),
    "collection.max_workers": (
        "Room for workers",
        "As more workers join, up to so many, each update learns from all of them. Empty: four times the "
        "workers.",
    ),
    "collection.instances_per_worker": ("Games per worker", None),
    "collection.seats": (
        "Policies",
        "For games of several agents: the name of the policy that plays each, in the agents' order, "
        "separated by commas. The same name is the same policy, each name learns from its own agents alone. "
        "Empty: one policy plays them all.",
    ),
    "evaluation": ("Evaluation", None),
    "evaluation.episodes": ("Evaluation episodes", "Episodes of each evaluation."),
    "evaluation.deterministic": (
        "Most probable actions",
        "Evaluate with the most probable action of each step; false: with sampled ones, as in training.",
    ),
    "evaluation.seed": (
        "Evaluation seed",
        "Decides the episodes of evaluations, apart from those of training.",
    ),
    "curriculum": ("Lessons", None),
    "curriculum.lessons": (
        "Lessons",
        "From the first to the last, each with a name, its parameters and until when it is played, as JSON.",
    ),
    "callbacks": ("Along the way", None),
    "callbacks.evaluation": (
        "Evaluations while it trains",
        'For example {"every_steps": 100000, "episodes": 20}. Empty: none.',
    ),
    "callbacks.checkpoint": (
        "Versions kept for good",
        'For example {"every_steps": 1000000}. Empty: only the newest, the best and at most 100 between.',
    ),
    "federated": ("Averaging between trainers", None),
}
"""Path to (title, help) where the name and the docstring of a setting are not what a form should say."""

RULE = re.compile(r"\s*\((?:rules? )?[A-Z]\d+(?:, [A-Z]\d+)*\)|\b[Rr]ules? [A-Z]\d+(?:, [A-Z]\d+)*[:,]\s*")
"""Rule ids, which say nothing to someone who fills in a form."""


def run_settings_schema() -> dict[str, Any]:
    """JSON Schema of `RunSettings`, every reference replaced by what it refers to.

    Sections are objects with `properties`; every setting has `title`, `description`, `default` and its
    limits. `null` stands beside another kind in `anyOf`. A setting that is a list of sections or a mapping
    is no section.
    """
    schema = RunSettings.model_json_schema()
    definitions = schema.pop("$defs", {})
    whole = _inlined(schema, definitions)
    _name(whole, "")
    return whole


def setting_paths(schema: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each setting's path (`ppo.learning_rate`) and its own schema, in order."""
    for name, part in schema["properties"].items():
        if "properties" in part:
            yield from setting_paths(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    given = cast("dict[str, Any]", node)
    reference = given.get("$ref")
    if reference is None:
        return {key: _inlined(value, definitions) for key, value in given.items()}
    below = definitions[reference.rsplit("/", 1)[-1]]
    return _inlined({**below, **{key: value for key, value in given.items() if key != "$ref"}}, definitions)


def _name(section: dict[str, Any], prefix: str) -> None:
    for name, part in section["properties"].items():
        path = f"{prefix}{name}"
        title, text = WORDS.get(path, (None, None))
        part["title"] = title or name.replace("_", " ").capitalize()
        part["description"] = text or _plain(part.get("description", ""))
        if "properties" in part:
            _name(part, f"{path}.")


def _plain(text: str) -> str:
    """A docstring for someone who does not read the source."""
    plain = " ".join(RULE.sub("", text).replace("`", "").split()).replace("; None:", ". None:")
    plain = plain.replace("None:", "Empty:")
    return plain[:1].upper() + plain[1:]
