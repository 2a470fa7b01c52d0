"""Demonstrations of `Signs-v1` without a game: who looks at the sign of the first input."""

import torch

from attract.experience.batch import Batch


def demonstrated_signs(
    *, episodes: int = 6, steps: int = 20, horizon: int = 8, seed: int = 5, num_inputs: int = 3
) -> Batch:
    """Right actions, reward 1 at the last step; the segments of each episode chained, the last filled up."""
    random = torch.Generator().manual_seed(seed)
    per_episode = -(-steps // horizon)
    seen = torch.randn(per_episode * horizon, episodes, num_inputs, generator=random)
    is_valid = (torch.arange(per_episode * horizon) < steps).unsqueeze(1).expand(-1, episodes)
    ends = torch.zeros_like(is_valid)
    ends[steps - 1] = True

    def cut(array: torch.Tensor) -> torch.Tensor:
        """[horizon, episodes * per_episode, ...], an episode's segments side by side."""
        parts = array.view(per_episode, horizon, *array.shape[1:]).movedim(0, 2)
        return parts.reshape(horizon, episodes * per_episode, *array.shape[2:])

    actions = (seen[..., 0] > 0).long()
    zeros = torch.zeros(horizon, episodes * per_episode)
    slots = torch.arange(episodes).repeat_interleave(per_episode)
    return Batch(
        observation={"obs": cut(seen)},
        action=cut(actions),
        log_prob=zeros,
        value=zeros,
        reward=cut(ends.float()),
        terminated=cut(ends),
        truncated=torch.zeros_like(cut(ends)),
        valid=cut(is_valid.contiguous()),
        final_value=zeros,
        bootstrap_value=zeros[0],
        slot_id=slots,
        first_step=torch.arange(per_episode).repeat(episodes) * horizon,
        policy_version=torch.zeros_like(slots),
        worker_id=torch.zeros_like(slots),
        bootstrap_observation={"obs": torch.zeros(episodes * per_episode, num_inputs)},
    )
