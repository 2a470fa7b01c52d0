"""Kinds of actions: their distributions, gradients and words, each by hand or against torch."""

import math

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from attract.algorithm.distributions import categorical_sample
from attract.errors import ConfigurationError
from attract.policy.action_kinds.box import DiagonalGaussian
from attract.policy.action_kinds.discrete import Categorical
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.multi_discrete import MultiCategorical
from attract.policy.action_kinds.table import KINDS, resolve_distribution
from attract.policy.graph_builder import GraphBuilder
from attract.schema.spaces import ActionSpace
from policies import assert_as_reference, normal_numbers

SPACES = {
    "discrete": {"kind": "discrete", "n": 3},
    "multi_discrete": {"kind": "multi_discrete", "nvec": [2, 5]},
    "multi_binary": {"kind": "multi_binary", "n": 4},
    "box": {"kind": "box", "shape": [2, 3], "low": -1, "high": [1, 2, 3, 4, 5, 6]},
    "mixed": {
        "kind": "mixed",
        "spaces": {
            "aim": {"kind": "box", "shape": [2], "low": 0, "high": [800, 600]},
            "button": {"kind": "discrete", "n": 3},
            "turn": {"kind": "box", "shape": [1], "low": -1, "high": 1},
            "gear": {"kind": "multi_discrete", "nvec": [2, 4]},
        },
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_nodes_of_a_kind_lead_from_its_outputs_to_an_action_of_the_shape_of_its_space(kind):
    graph = GraphBuilder()
    given = {*resolve_distribution(SPACES[kind]).output_names} - {"logits"} | {"masked"}
    shape = KINDS[kind].write_action(graph, SPACES[kind], "masked")
    assert shape == TypeAdapter(ActionSpace).validate_python(SPACES[kind]).action_shape
    known = given | {initializer.name for initializer in graph.initializers}
    for node in graph.nodes:
        assert set(node.input) <= known
        known |= set(node.output)
    assert list(graph.nodes[-1].output) == ["action"]


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


# Weights 1 : 2 : 5, shifted by 3: probabilities 0.125, 0.25, 0.625 whatever the shift.
LOGITS = torch.tensor([3.0, 3.0 + math.log(2), 3.0 + math.log(5)])


def log_prob_and_entropy(
    logits: torch.Tensor, action: int, mask: torch.Tensor | None = None
) -> tuple[float, float]:
    log_probs, entropies = Categorical(3).log_prob_and_entropy(
        logits.unsqueeze(0), torch.tensor([action]), None if mask is None else mask.unsqueeze(0)
    )
    return log_probs.item(), entropies.item()


def test_log_prob_of_weights_1_2_5():
    got, _ = Categorical(3).log_prob_and_entropy(LOGITS.expand(3, 3), torch.arange(3))
    expected = torch.tensor([math.log(0.125), math.log(0.25), math.log(0.625)])
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=0)


def test_entropy_of_weights_1_2_5():
    # 1/8 ln 8 + 1/4 ln 4 + 5/8 ln 8/5
    exact = math.log(8) / 8 + math.log(4) / 4 + 5 / 8 * math.log(8 / 5)
    assert log_prob_and_entropy(LOGITS, 0)[1] == pytest.approx(exact, rel=1e-6)


def test_the_learners_one_pass_agrees_with_torch_distributions():
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(50, 7, generator=generator, requires_grad=True)
    actions = torch.randint(0, 7, (50,), generator=generator)
    mask = torch.rand(50, 7, generator=generator) < 0.7
    mask[torch.arange(50), actions] = True
    log_probs, entropies = Categorical(7).log_prob_and_entropy(logits, actions, mask)
    (log_probs.sum() + entropies.sum()).backward()
    assert logits.grad is not None
    grad, logits.grad = logits.grad.clone(), None
    reference = torch.distributions.Categorical(logits=logits.masked_fill(~mask, -1e9))
    torch.testing.assert_close(log_probs, reference.log_prob(actions))
    torch.testing.assert_close(entropies, reference.entropy())
    (reference.log_prob(actions).sum() + reference.entropy().sum()).backward()
    torch.testing.assert_close(grad, logits.grad, rtol=1e-4, atol=1e-6)


def test_mode_and_sample_of_the_object():
    distribution = resolve_distribution({"kind": "discrete", "n": 3})
    assert (distribution.num_outputs, distribution.output_names, distribution.num_draws) == (
        3,
        ("logits",),
        1,
    )
    assert distribution.mode(LOGITS).item() == 2
    assert distribution.mode(LOGITS, torch.tensor([True, True, False])).item() == 1
    assert distribution.mode(torch.zeros(4)).item() == 0
    np.testing.assert_array_equal(
        distribution.sample(LOGITS.expand(2, 3), torch.tensor([[0.1], [0.9]])), [0, 2]
    )


def test_large_logits_do_not_overflow():
    logits = torch.tensor([1000.0, 999.0, -1000.0])
    assert categorical_sample(logits, torch.tensor(0.9999)).item() == 1
    # softmax of (0, -1, -2000): 1 / (1 + 1/e)
    assert log_prob_and_entropy(logits, 0)[0] == pytest.approx(-math.log(1 + math.exp(-1)))


def test_a_forbidden_action_is_never_drawn_and_adds_no_entropy():
    mask = torch.tensor([True, False, True])
    # Left: weights 1 and 5, probabilities 1/6 and 5/6.
    uniforms = torch.tensor([0.0, 0.166, 0.167, 1 - 2**-24])
    actions = categorical_sample(LOGITS.expand(4, 3), uniforms, mask.expand(4, 3))
    assert actions.tolist() == [0, 0, 2, 2]
    entropy = math.log(6) / 6 + 5 / 6 * math.log(6 / 5)
    assert log_prob_and_entropy(LOGITS, 2, mask) == pytest.approx((math.log(5 / 6), entropy), rel=1e-6)
    last_forbidden = torch.tensor([True, True, False])
    assert categorical_sample(LOGITS, torch.tensor(1 - 2**-24), last_forbidden).item() == 1


NVEC = [2, 5, 3]


@pytest.mark.parametrize("is_masked", [False, True])
def test_several_choices_agree_with_torchs_one_by_one(is_masked):
    actions = torch.stack([torch.arange(40) % count for count in NVEC], 1)
    mask = None
    if is_masked:
        mask = torch.rand(40, 10, generator=torch.Generator().manual_seed(2)) < 0.6
        offsets = torch.tensor([0, 2, 7])
        mask[torch.arange(40).unsqueeze(1), actions + offsets] = True

    def reference(outputs):
        masked = outputs if mask is None else outputs.masked_fill(~mask, -1e9)
        parts = [torch.distributions.Categorical(logits=part) for part in masked.split(NVEC, 1)]
        log_probs = sum(part.log_prob(actions[:, place]) for place, part in enumerate(parts))
        return log_probs, sum(part.entropy() for part in parts)

    assert_as_reference(MultiCategorical(NVEC), reference, normal_numbers(40, 10), actions, mask)


def test_several_choices_by_enumeration():
    distribution = MultiCategorical([2, 3])
    outputs = normal_numbers(1, 5)
    every = torch.cartesian_prod(torch.arange(2), torch.arange(3))
    log_probs, entropies = distribution.log_prob_and_entropy(outputs.expand(6, 5), every)
    assert log_probs.exp().sum().item() == pytest.approx(1.0, rel=1e-6)
    assert entropies[0].item() == pytest.approx(-(log_probs.exp() * log_probs).sum().item(), rel=1e-5)
    assert distribution.mode(outputs)[0].tolist() == every[log_probs.argmax()].tolist()


def test_one_choice_that_is_impossible_is_as_good_as_not_there():
    outputs, mask = normal_numbers(3, 5), torch.ones(3, 5, dtype=torch.bool)
    mask[:, 3] = False
    whole = MultiCategorical([2, 3])
    left = MultiCategorical([2, 2])
    # Component 1 has choices 0 and 2 left, which are 0 and 1 of the smaller space.
    got = whole.log_prob_and_entropy(outputs, torch.tensor([[0, 0], [1, 2], [1, 0]]), mask)
    expected = left.log_prob_and_entropy(outputs[:, [0, 1, 2, 4]], torch.tensor([[0, 0], [1, 1], [1, 0]]))
    torch.testing.assert_close(got, expected)
    uniforms = torch.rand(2000, 2, generator=torch.Generator().manual_seed(0))
    drawn = whole.sample(outputs[:1].expand(2000, 5), uniforms, mask[:1])
    assert sorted(drawn[:, 1].unique().tolist()) == [0, 2]
    assert (whole.mode(torch.tensor([[0.0, 1.0, 0.0, 9.0, 1.0]]), mask[:1]) == torch.tensor([1, 2])).all()


def test_C5_component_c_of_several_choices_has_uniform_c():
    distribution = MultiCategorical([2, 3])
    # Weights 1 : 1 and 1 : 1 : 2: boundaries at 0.5, and at 0.25 and 0.5.
    outputs = torch.tensor([0.0, 0.0, 0.0, 0.0, math.log(2)]).expand(3, 5)
    uniforms = torch.tensor([[0.49, 0.51], [0.51, 0.24], [0.0, 0.26]])
    assert distribution.num_draws == 2 and distribution.num_outputs == 5
    assert distribution.sample(outputs, uniforms).tolist() == [[0, 2], [1, 0], [0, 1]]


def test_bits_agree_with_torchs():
    actions = (normal_numbers(40, 3, seed=6) > 0).long()

    def reference(outputs):
        bits = torch.distributions.Independent(torch.distributions.Bernoulli(logits=outputs), 1)
        return bits.log_prob(actions.float()), bits.entropy()

    assert_as_reference(Bernoulli(3), reference, 3 * normal_numbers(40, 3), actions)


def test_bits_that_are_nearly_certain_are_finite_and_exact():
    outputs = torch.tensor([[50.0, -50.0]])
    log_probs, entropies = Bernoulli(2).log_prob_and_entropy(outputs, torch.tensor([[1, 0]]))
    # log sigmoid(50) = -e^-50, twice; the entropy of each is 51 e^-50 to first order.
    assert log_probs.item() == pytest.approx(-2 * math.exp(-50), rel=1e-5)
    assert entropies.item() == pytest.approx(2 * 51 * math.exp(-50), rel=1e-5)
    unlikely, _ = Bernoulli(2).log_prob_and_entropy(outputs, torch.tensor([[0, 1]]))
    assert unlikely.item() == -100.0


def test_C5_a_bit_is_1_where_its_uniform_is_below_its_probability():
    outputs = torch.tensor([0.0, math.log(3)])  # probabilities 0.5 and 0.75
    uniforms = torch.tensor([[0.5, 0.75 - 2**-20], [0.5 - 2**-24, 0.75 + 2**-20]])
    assert Bernoulli(2).sample(outputs.expand(2, 2), uniforms).tolist() == [[0, 1], [1, 0]]
    assert Bernoulli(2).mode(torch.tensor([[-0.1, 0.1]])).tolist() == [[0, 1]]


def test_P6_the_density_is_torchs_at_what_was_sampled_however_far_outside():
    # Some actions lie far outside of [-1, 1], where the game's box ends.
    actions = 3 * normal_numbers(40, 2, seed=7)
    assert (actions.abs() > 4).any()

    def reference(outputs):
        mean, log_std = outputs.chunk(2, 1)
        normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
        return normal.log_prob(actions), normal.entropy()

    assert_as_reference(DiagonalGaussian(2), reference, 0.7 * normal_numbers(40, 4), actions)


def test_P6_the_density_by_hand():
    # Mean 0.5 and log std ln 2: (3.5 - 0.5) / 2 = 1.5; -1.125 - ln 2 - ln(2 pi) / 2 = -2.7370858.
    outputs = torch.tensor([[0.5, math.log(2)]])
    log_prob, entropy = DiagonalGaussian(1).log_prob_and_entropy(outputs, torch.tensor([[3.5]]))
    assert log_prob.item() == pytest.approx(-2.7370857, rel=1e-6)
    # ln 2 + (1 + ln(2 pi)) / 2 = 2.1120857
    assert entropy.item() == pytest.approx(2.1120857, rel=1e-6)
    assert DiagonalGaussian(1).mode(torch.tensor([[4.0, 0.0]])).tolist() == [[4.0]]


def test_C5_normal_numbers_come_from_pairs_of_uniforms():
    # 1 - u = e^(-1/2): radius 1. Angles 0, half and a quarter turn: z = 1, -1, 0; in the other component 0.
    one = 1 - math.exp(-0.5)
    uniforms = torch.tensor([[one, 0.0, 0.0, 0.3], [one, 0.5, 0.0, 0.3], [one, 0.25, 0.0, 0.3]]).double()
    outputs = torch.tensor([0.5, -1.0, math.log(2), 0.0]).expand(3, 4)
    drawn = DiagonalGaussian(2).sample(outputs, uniforms)
    assert drawn.dtype == torch.float32
    torch.testing.assert_close(drawn[:, 0], torch.tensor([2.5, -1.5, 0.5]), rtol=1e-6, atol=1e-6)
    assert drawn[:, 1].tolist() == [-1.0, -1.0, -1.0]


def test_normal_numbers_have_mean_0_and_variance_1():
    uniforms = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(1))
    drawn = DiagonalGaussian(1).sample(torch.zeros(20_000, 2), uniforms)
    # Standard errors 0.007 and 0.01; the largest uniform, 1 - 2^-24, gives sqrt(2 * 24 ln 2) = 5.77.
    assert abs(drawn.mean().item()) < 0.03 and abs(drawn.var().item() - 1) < 0.04
    edge = DiagonalGaussian(1).sample(torch.zeros(1, 2), torch.tensor([[1 - 2**-24, 0.0]]))
    assert edge.item() == pytest.approx(math.sqrt(48 * math.log(2)), rel=1e-6)


@pytest.mark.parametrize("change", [{"low": None}, {"high": None}, {"dtype": "uint8"}])
def test_P6_a_box_without_bounds_or_of_bytes_is_refused(change):
    space = {"kind": "box", "dtype": "float32", "shape": [2], "low": -1, "high": 1}
    with pytest.raises(ConfigurationError, match="both bounds"):
        resolve_distribution(space | change)
