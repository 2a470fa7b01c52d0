"""Metrics of an update's experience, about the game and exploration; the run's diagnosis reads them."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Report
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, MixedSpace, SetSpace, observation_parts

MAX_FOLLOWED_NUMBERS = 256
"""Maximum size of an observation's entry; parts of a larger one, a picture or a board, may never change."""
_GAUSSIAN_ENTROPY = 0.5 + 0.5 * math.log(2.0 * math.pi)
"""Nats of a normal number of standard deviation 1."""


class ExperienceHealth:
    """Follows the range of each number of the observation from update to update.

    Owned by the learner's main thread. Not saved: after a resume the ranges are those since then.
    """

    def __init__(self, game: GameDescription) -> None:
        self._game = game
        parts = observation_parts(game.observation)
        self._sets = {key for key, part in parts.items() if isinstance(part, SetSpace)}
        self._ranges: dict[str, tuple[Tensor, Tensor]] = {}
        """[numbers] float32 smallest and largest of each followed entry."""

    def metrics(
        self, batches: Mapping[str, Batch], reports: Mapping[str, Report], *, is_sole: bool
    ) -> dict[str, float]:
        """Health metrics of one update's batches, over their valid steps.

        `rollout/reward_min`, `_max` and `_mean` of single steps, and `_usual`: the geometric mean of the
        sizes of rewards other than 0, if there are any; how many numbers of the observation have been the
        same ever since, with place and value of the first; and per policy `train/entropy_share`,
        the entropy over that of even chances, or `train/action_spread`, the standard deviation of
        continuous actions in half their range (geometric mean over components).

        Args:
            batches: of each policy that was updated, by id, each with a valid step.
            reports: of the same policies.
            is_sole: whether the run has one policy, whose names stay plain; else its id follows.
        """
        rewards = torch.cat([batch.reward[batch.valid] for batch in batches.values()]).double()
        low, high, mean = torch.stack([rewards.min(), rewards.max(), rewards.mean()]).tolist()
        found = {"rollout/reward_min": low, "rollout/reward_max": high, "rollout/reward_mean": mean}
        if low < 0 or high > 0:
            found["rollout/reward_usual"] = float(rewards[rewards != 0].abs().log().mean().exp())
        for batch in batches.values():
            self._follow(batch)
        found |= self._constants()
        for policy_id, report in reports.items():
            own = "" if is_sole else f"/{policy_id}"
            found |= {
                f"{name}{own}": value for name, value in self._spread(batches[policy_id], report).items()
            }
        return found

    def _follow(self, batch: Batch) -> None:
        is_whole = bool(batch.valid.all())
        for key, array in sorted(batch.observation.items()):
            if key in self._sets or array.dtype == torch.uint8:
                continue
            if array[0, 0].numel() > MAX_FOLLOWED_NUMBERS:
                continue
            seen = array.flatten(0, 1) if is_whole else array[batch.valid]
            numbers = seen.reshape(-1, array[0, 0].numel()).float()
            if numbers.shape[0] == 0:
                continue
            lowest, highest = numbers.amin(0).cpu(), numbers.amax(0).cpu()
            if key in self._ranges:
                lowest = torch.minimum(lowest, self._ranges[key][0])
                highest = torch.maximum(highest, self._ranges[key][1])
            self._ranges[key] = lowest, highest

    def _constants(self) -> dict[str, float]:
        """Numbered through all followed entries, by key and then row-major."""
        if not self._ranges:
            return {}
        lowest = torch.cat([self._ranges[key][0] for key in sorted(self._ranges)])
        highest = torch.cat([self._ranges[key][1] for key in sorted(self._ranges)])
        places = torch.nonzero(lowest == highest).flatten().tolist()
        found = {"rollout/constant_observations": float(len(places))}
        if places:
            found["rollout/first_constant_observation"] = float(places[0])
            found["rollout/first_constant_value"] = float(lowest[places[0]])
        return found

    def _spread(self, batch: Batch, report: Report) -> dict[str, float]:
        space = self._game.action
        # The entropies of choices and of real numbers have no common scale.
        if report.entropy is None or isinstance(space, MixedSpace):
            return {}
        if isinstance(space, BoxSpace):
            return {"train/action_spread": math.exp(report.entropy / space.size - _GAUSSIAN_ENTROPY)}
        most = _largest_entropy(space.choices, batch)
        return {"train/entropy_share": report.entropy / most} if most > 0 else {}


def _largest_entropy(choices: tuple[int, ...], batch: Batch) -> float:
    """Nats of even chances among the allowed choices, mean over valid steps."""
    if batch.action_mask is None:
        return sum(math.log(n) for n in choices)
    allowed = batch.action_mask[batch.valid].bool()
    counts = [part.sum(-1).clamp(min=1).double() for part in allowed.split(choices, -1)]
    return float(sum(torch.log(count).mean() for count in counts))
