import pytest
import torch

from attract.errors import ConfigurationError
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical
from attract.policy.action_kinds.table import resolve_distribution


def test_an_action_space_that_cannot_be_trained_is_refused():
    with pytest.raises(ConfigurationError, match=r"'teleport'.*\n.*'discrete'"):
        resolve_distribution({"kind": "teleport"})


@pytest.mark.parametrize(
    ("space", "outputs", "draws", "kind"),
    [
        ({"kind": "multi_discrete", "nvec": [2, 3]}, 5, 2, MultiCategorical),
        ({"kind": "multi_binary", "n": 4}, 4, 4, Bernoulli),
        (
            {"kind": "box", "dtype": "float32", "shape": [2, 3], "low": -1, "high": 1},
            12,
            12,
            DiagonalGaussian,
        ),
    ],
)
def test_each_kind_of_action_has_its_distribution(space, outputs, draws, kind):
    distribution = resolve_distribution(space)
    assert isinstance(distribution, kind)
    assert (distribution.num_outputs, distribution.num_draws) == (outputs, draws)


@pytest.mark.parametrize("distribution", [Bernoulli(2), DiagonalGaussian(1)])
def test_a_mask_for_actions_that_know_none_is_a_bug(distribution):
    with pytest.raises(RuntimeError, match="expected a mask for discrete choices only"):
        distribution.sample(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2, dtype=torch.bool))
