"""Pictures moved a little, as one of many that teach the same."""

import torch
from torch import Tensor

from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed


def shift_pictures(
    policy: Policy, preprocessed: Preprocessed, share: float, generator: torch.Generator
) -> Preprocessed:
    """Each picture moved by whole pixels; what comes in at an edge repeats it. Other entries as they are.

    Args:
        policy: that sees them.
        preprocessed: [..., N, height, width, channels] each; along the dimensions before N a picture is moved
            as one, as a recurrent policy sees it.
        share: of its height and of its width, the furthest that a picture is moved.
        generator: on the CPU.

    Source: Yarats et al. 2020 (arXiv:2004.13649), section 4.1, with 4 of 84 pixels.
    """
    moved = dict(preprocessed)
    for entry in policy.entries:
        if entry.kind != "image":
            continue
        pictures = moved[entry.key]
        count, height, width = pictures.shape[-4:-1]
        rows, columns = (
            _places(size, count, share, generator).to(pictures.device) for size in (height, width)
        )
        which = torch.arange(count, device=pictures.device)[:, None, None]
        moved[entry.key] = pictures[..., which, rows[:, :, None], columns[:, None, :], :]
    return moved


def _places(size: int, count: int, share: float, generator: torch.Generator) -> Tensor:
    """[count, size] int64, where along an edge each pixel is taken from."""
    furthest = int(share * size)
    by = torch.randint(-furthest, furthest + 1, (count, 1), generator=generator)
    return (torch.arange(size) + by).clamp(0, size - 1)
