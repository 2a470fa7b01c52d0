"""Augmented demonstrations: crossed observations, labelled by extremely randomised trees.

A network that is fitted to a few episodes generalises badly between them. Trees generalise well there, but do
not run in a browser: the network is therefore fitted to their choices in observations that lie between the
demonstrated ones. The trees are scikit-learn's (the extra `attract-rl[imitate]`).
"""

import importlib.util
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch
from attract.policy.network import Policy

NUM_CROSSED: Final = 60_000
SHARE_SEEN: Final = 0.1
"""Share of all examples that stay as they were demonstrated."""
MAX_NUMBERS: Final = 256
"""Largest observation for which trees are grown: a picture is not a table."""
MIN_TREES: Final = 20
MAX_TREES: Final = 200
MAX_GROWN_ROWS: Final = 2_000_000
"""Rows times trees: a larger table gets fewer trees."""


def has_trees() -> bool:
    """Whether scikit-learn is installed."""
    try:
        return importlib.util.find_spec("sklearn") is not None
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class CrossedExamples:
    """Observations and what to do in them, to be fitted to instead of the demonstrations."""

    observation: dict[str, Tensor]
    """[n, ...] float32 each, raw."""
    action: Tensor
    """[n] or [n, components] int64."""

    @classmethod
    def of(cls, policy: Policy, batch: Batch, generator: torch.Generator) -> Self | None:
        """Crossed examples of a batch of demonstrations.

        Returns: None for pictures, sets, recurrent policies and real-valued actions, or without scikit-learn.

        Masks are left out: what a mask forbids where two observations are crossed, only the game knows.
        The policy applies its own when it plays.

        `generator`: on the CPU; draws how observations are crossed, the trees' seed and their choices.
        """
        if not has_trees() or policy.state_size > 0 or batch.action.is_floating_point():
            return None
        seen = {key: array[batch.valid] for key, array in batch.observation.items()}
        if policy.encoders or any(not array.is_floating_point() for array in seen.values()):
            return None
        flat = torch.cat([array.flatten(1).double() for array in seen.values()], 1).cpu().numpy()
        if flat.shape[1] > MAX_NUMBERS or len(flat) < 2:
            return None
        random = np.random.default_rng(int(torch.randint(1 << 31, (1,), generator=generator)))
        num_rows = len(flat)
        num_repeats = max(1, round(NUM_CROSSED * SHARE_SEEN / num_rows))
        one, other = random.integers(num_rows, size=(2, NUM_CROSSED))
        crossed = np.where(random.random((NUM_CROSSED, flat.shape[1])) < 0.5, flat[one], flat[other])
        actions = batch.action[batch.valid].cpu()
        components = actions.reshape(num_rows, -1).numpy()
        drawn = np.empty((NUM_CROSSED, components.shape[1]), np.int64)
        for component in range(components.shape[1]):
            chosen = components[:, component]
            choices, shares = _choice_shares(flat, chosen, crossed, int(random.integers(1 << 31)))
            # Sharper than the trees': a drawn action is closer to the likeliest; high uncertainty stays.
            bounds = (shares**2).cumsum(1)
            point = random.random((NUM_CROSSED, 1)) * bounds[:, -1:]
            drawn[:, component] = choices[(point >= bounds).sum(1)]
        device = batch.action.device
        whole = np.concatenate([crossed, np.tile(flat, (num_repeats, 1))]).astype(np.float32)
        parts = torch.from_numpy(whole).to(device).split([array[0].numel() for array in seen.values()], 1)
        observation = {
            key: part.reshape(-1, *array.shape[1:])
            for (key, array), part in zip(seen.items(), parts, strict=True)
        }
        action = np.concatenate([drawn, np.tile(components, (num_repeats, 1))])
        return cls(observation, torch.from_numpy(action).reshape(-1, *actions.shape[1:]).to(device))

    def loss(
        self,
        policy: Policy,
        distribution: ActionDistribution,
        num_rows: int,
        generator: torch.Generator,
    ) -> Tensor:
        """Mean negative log-likelihood, nats, of so many of them, drawn at random; with gradient."""
        drawn = torch.randint(len(self.action), (num_rows,), generator=generator).to(self.action.device)
        seen = {key: array[drawn] for key, array in self.observation.items()}
        outputs, _ = policy.forward_preprocessed(policy.preprocess(seen))
        return -distribution.log_prob_and_entropy(outputs, self.action[drawn])[0].mean()


def _choice_shares(
    seen: NDArray[np.float64], chosen: NDArray[np.int64], crossed: NDArray[np.float64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The choices that occur, ascending, and their [m, choices] probabilities in `crossed`.

    Source: Geurts, Ernst, Wehenkel: Extremely randomized trees, Machine Learning 63 (2006). Every number of
    an observation is a candidate at each split: an observation has few.
    """
    # Imported here: it is an extra, and takes a second.
    from sklearn import ensemble

    num_trees = int(np.clip(MAX_GROWN_ROWS // len(seen), MIN_TREES, MAX_TREES))
    # Without types of its own that hold: `max_features=None` (all of them) is documented.
    forest: Any = ensemble.ExtraTreesClassifier(
        n_estimators=num_trees,
        max_features=None,  # pyright: ignore[reportArgumentType]
        random_state=seed,
    )
    forest.fit(seen, chosen)
    return forest.classes_, forest.predict_proba(crossed)
