"""A set of things: the order of its rows changes nothing, nor do the rows that hold none."""

import numpy as np
import onnxruntime
import pytest
import torch

from attract.learner.imitation.crossing import CrossedExamples
from attract.policy.export import policy_metadata
from attract.policy.graph import policy_graph
from attract.policy.network import Policy
from attract.policy.observation_inputs import observation_inputs
from attract.policy.parity import check_parity, probe
from attract.policy.set_encoder import SetEncoder
from attract.schema.spaces import BoxSpace, DictSpace, SetSpace, observation_parts
from batches import build, play
from policies import describe

ROCKS = SetSpace(max=6, shape=[3])
SPACE = DictSpace(spaces={"me": BoxSpace(shape=[2]), "rocks": ROCKS})


def policy_of(**settings: object) -> Policy:
    policy, _ = build(SPACE, normalize=True, **settings)
    policy.normalisers["rocks"].set_statistics(
        torch.tensor([1.0, -2.0, 0.5, 0.0]), torch.tensor([2.0, 1.0, 0.5, 1.0])
    )
    return policy


def things(*counts: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """Observations with so many rocks each."""
    generator = torch.Generator().manual_seed(seed)
    rocks = torch.randn(len(counts), ROCKS.max, 4, generator=generator)
    rocks[..., -1] = (torch.arange(ROCKS.max) < torch.tensor(counts)[:, None]).float()
    return {
        "me": torch.randn(len(counts), 2, generator=generator),
        "rocks": rocks * rocks[..., -1:],
    }


@pytest.mark.parametrize("settings", [{}, {"recurrent": "gru"}, {"shared_trunk": False}])
def test_the_order_of_rows_changes_neither_logits_nor_value(settings: dict[str, object]) -> None:
    policy = policy_of(**settings)
    session = onnxruntime.InferenceSession(policy_graph(policy).SerializeToString())
    seen = things(0, 1, 3, 6, 6)
    order = torch.stack([torch.randperm(6) for _ in range(5)])
    mixed = seen | {"rocks": seen["rocks"].gather(1, order.unsqueeze(2).expand(-1, -1, 4))}
    assert not torch.equal(mixed["rocks"], seen["rocks"])
    state = torch.zeros(5, policy.state_size)
    one, other = (policy.step(policy.preprocess(observed), state) for observed in (seen, mixed))
    for before, after in zip(one, other, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-5, atol=1e-5)
    fed = [
        {"obs_0": observed["me"].numpy(), "obs_1": observed["rocks"].numpy()}
        | ({"state_ins": state.numpy()} if policy.state_size else {})
        for observed in (seen, mixed)
    ]
    for before, after in zip(*(session.run(["logits", "value"], feeds) for feeds in fed), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-5)
    # And a rock more or another rock does change them.
    for changed in (things(1, 2, 4, 5, 5), things(0, 1, 3, 6, 6, seed=1)):
        rocks = seen | {"rocks": changed["rocks"]}
        assert not torch.allclose(policy.step(policy.preprocess(rocks), state)[0][2:], one[0][2:], atol=1e-3)


def test_what_a_row_without_a_thing_has_does_not_count() -> None:
    policy = policy_of()
    seen = things(0, 2)
    rubbish = seen["rocks"].clone()
    rubbish[..., :-1] += 50 * (1 - rubbish[..., -1:])
    for before, after in zip(policy(seen), policy(seen | {"rocks": rubbish}), strict=True):
        assert torch.equal(before, after)


def test_the_mean_by_attention_is_that_of_the_formula() -> None:
    encoder = SetEncoder((3, 3), torch.Generator().manual_seed(0))
    rows = torch.tensor([[[0.5, -1.0, 1.0], [9.0, 9.0, 0.0], [2.0, 0.1, 1.0]]])
    features = encoder.layers(rows[:, [0, 2]])[0].double()
    scores = features @ encoder.scores.weight.T.double() + encoder.scores.bias.double()
    # exp(score) over the sum of those of the rows, and of one whose score is 0.
    weights = scores.exp() / (scores.exp().sum(0) + 1)
    expected = (features.view(2, 4, 8) * weights[:, :, None]).sum(0).flatten()
    torch.testing.assert_close(encoder(rows)[0].double(), expected, rtol=1e-5, atol=1e-6)


def test_no_thing_gives_zeros_and_no_score_is_too_large() -> None:
    encoder = SetEncoder((4, 3), torch.Generator().manual_seed(0))
    assert not encoder(torch.zeros(2, 4, 3)).any()
    rows = torch.tensor([[[1e6, -1e6, 1.0], [1e6, 1e5, 1.0], [0.0, 0.0, 0.0], [-1e6, 1e6, 1.0]]])
    encoded = encoder(rows)
    assert encoded.isfinite().all()
    encoded.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


TWO = DictSpace(spaces={"a": ROCKS, "b": SetSpace(max=40, shape=[7]), "c": ROCKS})


@pytest.mark.parametrize("space", [ROCKS, SPACE, TWO, SetSpace(max=1, shape=[1])])
def test_C9_torch_and_onnx_agree_also_where_there_is_nothing(space: DictSpace | SetSpace) -> None:
    policy, _ = build(space, normalize=True)
    probes = probe(policy)
    rows = [probes[entry.key][..., -1] for entry in policy.entries if entry.kind == "set"]
    assert all(not holds[0].any() and holds.any() for holds in rows)
    check_parity(policy, policy_graph(policy).SerializeToString())


def test_P7_padding_and_invalid_steps_have_no_part_in_the_statistics() -> None:
    (entry,) = observation_inputs(SetSpace(max=3, shape=[1]))
    # Two rows at the first step, one at the second; the third is invalid.
    seen = torch.tensor([[[1.0, 1], [5, 1], [0, 0]], [[0, 0], [0, 0], [9, 1]], [[77, 1], [77, 1], [77, 1]]])
    moments = entry.moments(seen.unsqueeze(1), torch.tensor([[True], [True], [False]]))
    # 1, 5, 9: mean 5, squared deviations 16 + 0 + 16. The last number is neither moved nor scaled.
    assert (moments.count, moments.mean.tolist()) == (3.0, [5.0, 0.0])
    assert moments.squared_deviations.tolist() == [32.0, 3.0]
    both = moments.merge(moments)
    assert both.inverse_std[1].float() == 1.0 and both.mean[1] == 0.0
    nothing = entry.moments(torch.zeros(2, 1, 3, 2), torch.ones(2, 1, dtype=torch.bool))
    assert nothing.count == 0


def test_policy_json_says_what_a_set_is() -> None:
    policy = policy_of()
    inputs = policy_metadata(policy, describe(SPACE), 1, {})["inputs"]
    assert "set" not in inputs["obs_0"]
    rocks = inputs["obs_1"]
    assert (rocks["key"], rocks["set"], rocks["shape"]) == ("rocks", True, ["batch", 6, 4])
    assert rocks["normalisation"]["mean"] == [1.0, -2.0, 0.5, 0.0]


def test_demonstrations_of_sets_are_not_crossed() -> None:
    # Half of one row and half of another is no thing that there was.
    policy, distribution = build(SPACE)
    assert CrossedExamples.of(policy, play(policy, distribution), torch.Generator()) is None


def test_parts_are_sorted_and_have_any_name() -> None:
    assert list(observation_parts(DictSpace(spaces={"b": ROCKS, "__proto__": ROCKS}))) == ["__proto__", "b"]
    assert observation_parts(ROCKS) == {"obs": ROCKS}
