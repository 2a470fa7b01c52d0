import math

import pytest
import torch

from attract.algorithm.distributions import categorical_sample

# Weights 1 : 2 : 5, shifted by 3: probabilities 0.125, 0.25, 0.625 whatever the shift.
LOGITS = torch.tensor([3.0, 3.0 + math.log(2), 3.0 + math.log(5)])


@pytest.mark.parametrize(
    ("uniform", "action"), [(0.0, 0), (0.124, 0), (0.126, 1), (0.374, 1), (0.376, 2), (1 - 2**-24, 2)]
)
def test_C5_the_sample_is_the_first_action_whose_cumulative_probability_exceeds_u(uniform, action):
    assert categorical_sample(LOGITS, torch.tensor(uniform)).item() == action


def test_C5_a_draw_on_the_boundary_belongs_to_the_next_action():
    # Two equal logits: cumulative 0.5 does not exceed u = 0.5.
    assert categorical_sample(torch.zeros(2), torch.tensor(0.5)).item() == 1
    assert categorical_sample(torch.zeros(2), torch.tensor(0.5 - 2**-24)).item() == 0


def test_C5_frequencies_over_an_even_grid_of_uniforms():
    uniforms = (torch.arange(8000) + 0.5) / 8000
    actions = categorical_sample(LOGITS.expand(8000, 3), uniforms)
    assert torch.bincount(actions).tolist() == [1000, 2000, 5000]
