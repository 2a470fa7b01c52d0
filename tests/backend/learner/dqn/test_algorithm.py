"""DQN behind the seam: one whole update against numpy, and what is kept, undone and refused."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from attract.algorithm.categories import NUM_BINS
from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Learnable, Progress, undone_on_failure
from attract.learner.dqn.algorithm import Dqn
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.learner import Awaited, Export, Exported, Published, Ready, Train, Warmup
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
    ObservationSpace,
    SetSpace,
)
from attract.settings.dqn import DqnSettings
from attract.settings.run import PolicySettings
from batches import HORIZON, SLOTS, play, restore, same, signs_batches, signs_fleet, state_of, take
from batches import create as create_one
from learner_world import LearnerProcess, SignsFleet, begin_for, describe_signs, train_message
from policies import describe


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[SignsFleet]:
    fleet = signs_fleet(tmp_path)
    yield fleet
    fleet.close()


@pytest.fixture
def batches(fleet: SignsFleet) -> list[Batch]:
    return signs_batches(fleet)


def create(policy_id: str | None = None, seed: int = 3, **dqn: object) -> tuple[Dqn, Policy]:
    return create_one(
        Dqn, DqnSettings, describe_signs(), policy_id=policy_id, seed=seed, num_bins=NUM_BINS, **dqn
    )


class Reference:
    """One gradient step in numpy, in float64: written from the papers, not from the code."""

    def __init__(self, state: dict[str, torch.Tensor], limit: float) -> None:
        self.w = {name: tensor.double().numpy().copy() for name, tensor in state.items()}
        self.limit = limit
        self.centres = np.linspace(-limit, limit, 51)

    def forward(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        w = self.w
        x = (observation - w["policy.normaliser.mean"]) * w["policy.normaliser.inv_std"]
        x = np.clip(x, -10, 10)
        h = np.tanh(x @ w["policy.trunk.0.weight"].T + w["policy.trunk.0.bias"])
        a = (h @ w["advantage_head.weight"].T + w["advantage_head.bias"]).reshape(len(x), -1, 51)
        v = h @ w["value_head.weight"].T + w["value_head.bias"]
        powers = np.exp(v[:, None] + a - a.mean(1, keepdims=True))
        shares = powers / powers.sum(2, keepdims=True)
        return {"x": x, "h": h, "p": shares, "q": shares @ self.centres}

    def histogram(self, target: float) -> np.ndarray:
        width, target = self.limit / 25, np.clip(target, -self.limit, self.limit)
        edges = [*(self.centres - width / 2), self.limit + width / 2]
        below = np.array([math.erf((edge - target) / (0.75 * width * math.sqrt(2))) for edge in edges])
        return np.diff(below) / (below[-1] - below[0])

    def gradients(
        self, observation: np.ndarray, actions: np.ndarray, targets: np.ndarray
    ) -> tuple[float, dict[str, np.ndarray]]:
        w, found, size = self.w, self.forward(observation), len(actions)
        predicted = found["p"][np.arange(size), actions]
        wanted = np.stack([self.histogram(target) for target in targets])
        loss = -(wanted * np.log(predicted)).sum() / size
        by_predicted = (predicted - wanted) / size
        by_a = np.zeros_like(found["p"])
        by_a[np.arange(size), actions] = by_predicted
        by_a -= by_a.sum(1, keepdims=True) / by_a.shape[1]
        by_a = by_a.reshape(size, -1)
        by_h = by_a @ w["advantage_head.weight"] + by_predicted @ w["value_head.weight"]
        by_h *= 1 - found["h"] ** 2
        return loss, {
            "advantage_head.weight": by_a.T @ found["h"],
            "advantage_head.bias": by_a.sum(0),
            "value_head.weight": by_predicted.T @ found["h"],
            "value_head.bias": by_predicted.sum(0),
            "policy.trunk.0.weight": by_h.T @ found["x"],
            "policy.trunk.0.bias": by_h.sum(0),
        }


def transitions_of(batch: Batch, divisor: float) -> list[tuple[np.ndarray, int, float, float, np.ndarray]]:
    """Observation, action, two-step reward, discount and next observation, by column and then by step."""
    found: list[tuple[np.ndarray, int, float, float, np.ndarray]] = []
    finals = {
        (step, column): batch.finals.observation["obs"][place].double().numpy()
        for place, (step, column) in enumerate(
            zip(batch.finals.step.tolist(), batch.finals.column.tolist(), strict=True)
        )
    }
    observed = batch.observation["obs"].double().numpy()
    for column in range(SLOTS):
        for start in range(HORIZON):
            if not batch.valid[start, column]:
                continue
            total, discount, step = 0.0, 1.0, start
            while True:
                total += discount * np.clip(float(batch.reward[step, column]) / divisor, -10, 10)
                discount *= 0.9
                if batch.terminated[step, column]:
                    discount, end = 0.0, observed[step, column]
                elif batch.truncated[step, column]:
                    end = finals[step, column]
                elif step == HORIZON - 1:
                    end = batch.bootstrap_observation["obs"][column].double().numpy()
                elif step == start:
                    step += 1
                    continue
                else:
                    end = observed[step + 1, column]
                break
            found.append((observed[start, column], int(batch.action[start, column]), total, discount, end))
    return found


def divisor_of(batches: list[Batch]) -> float:
    """Deviation of the discounted past returns of all steps, or a tenth of their root mean square."""
    returns: list[float] = []
    for column in range(SLOTS):
        running = 0.0
        for batch in batches:
            for step in range(HORIZON):
                if not batch.valid[step, column]:
                    running = 0.0
                    continue
                running = 0.9 * running + float(batch.reward[step, column])
                returns.append(running)
                if batch.terminated[step, column] or batch.truncated[step, column]:
                    running = 0.0
    return max(np.std(returns), 0.1 * np.sqrt(np.mean(np.square(returns))))


def test_one_whole_update_is_what_numpy_says(batches: list[Batch]):
    first, second = batches[:2]
    size, rate, tau = 16, 0.01, 0.25
    algorithm, policy = create(
        gamma=0.9,
        n_steps=2,
        return_limit=4.0,
        batch_size=size,
        learning_rate=rate,
        tau=tau,
        max_grad_norm=0.05,
        replay_ratio=1.01 / int(second.valid.sum()),
    )
    policy.normalisers["obs"].set_statistics(torch.tensor([1.0, 0.5, 0.0]), torch.tensor([0.5, 0.6, 0.7]))
    with torch.no_grad():
        # A target network that is another one, and prefers other actions.
        generator = torch.Generator().manual_seed(5)
        for tensor in (*algorithm.target.parameters(), *algorithm.network.parameters()):
            tensor.add_(0.3 * torch.randn(tensor.shape, generator=generator))
        algorithm.target.value_head.bias[30:].add_(0.5)
    take(algorithm, first)
    own, follower = (
        Reference(network.state_dict(), 4.0) for network in (algorithm.network, algorithm.target)
    )
    for name in ("mean", "inv_std"):
        follower.w[f"policy.normaliser.{name}"] = own.w[f"policy.normaliser.{name}"]
    listed = transitions_of(first, divisor_of([first, second]))
    generator = torch.Generator()
    generator.set_state(algorithm.generator.get_state())
    drawn = [listed[place] for place in torch.randint(len(listed), (size,), generator=generator).tolist()]
    observation, actions, rewards, discount, following = (
        np.array(column) for column in zip(*drawn, strict=True)
    )
    best = own.forward(following)["q"].argmax(1)
    assert (best != follower.forward(following)["q"].argmax(1)).any()
    next_values = follower.forward(following)["q"][np.arange(size), best]
    loss, gradients = own.gradients(observation, actions, rewards + discount * next_values)
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
    assert norm > 0.05

    report = take(algorithm, second)

    assert report["train/num_minibatches"] == 1.0
    assert report["train/loss"] == pytest.approx(loss, rel=1e-4)
    assert report["train/grad_norm"] == pytest.approx(norm, rel=1e-4)
    assert report["train/reward_divisor"] == pytest.approx(divisor_of([first, second]), rel=1e-5)
    learned = algorithm.network.state_dict()
    followed = algorithm.target.state_dict()
    for name, gradient in gradients.items():
        clipped = gradient * 0.05 / norm
        # Adam's first step.
        expected = own.w[name] - rate * clipped / (np.abs(clipped) + 1e-5)
        np.testing.assert_allclose(learned[name].numpy(), expected, atol=2e-5, err_msg=name)
        moved = (1 - tau) * follower.w[name] + tau * expected
        np.testing.assert_allclose(followed[name].numpy(), moved, atol=2e-5, err_msg=name)
    # What plays are the values that were learned.
    after = Reference(learned, 4.0).forward(observation)["q"]
    with torch.no_grad():
        outputs, values = policy({"obs": torch.from_numpy(observation).float()})
    scaled = report["train/logit_scale"] * (after - after.mean(1, keepdims=True))
    np.testing.assert_allclose(outputs.numpy(), scaled, rtol=1e-3, atol=1e-3 * np.abs(scaled).max())
    np.testing.assert_allclose(values.numpy(), after.mean(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spoilt", ["reward", "observation"])
def test_P8_what_is_not_finite_never_enters_the_buffer(batches: list[Batch], spoilt: str):
    algorithm, _ = create()
    take(algorithm, batches[0])
    before, batch = state_of(algorithm), batches[1]
    where = batch.valid.nonzero()[0].tolist()
    if spoilt == "reward":
        reward = batch.reward.clone()
        reward[tuple(where)] = torch.inf
        batch = replace(batch, reward=reward)
    else:
        observation = batch.observation["obs"].clone()
        observation[tuple(where)] = torch.nan
        batch = replace(batch, observation={"obs": observation})
    with pytest.raises(NonFiniteUpdateError, match=spoilt), undone_on_failure(algorithm):
        algorithm.update(batch, Progress())
    assert same(before, state_of(algorithm)) and algorithm.commit() == {}
    assert algorithm.buffer.num_steps == int(batches[0].valid.sum())


def test_P8_a_step_that_is_not_finite_undoes_the_whole_update(batches: list[Batch]):
    algorithm, _ = create(replay_ratio=0.1)
    take(algorithm, batches[0])
    take(algorithm, batches[1])
    with torch.no_grad():
        algorithm.target.value_head.bias[0] = torch.inf
    before = state_of(algorithm)
    with pytest.raises(NonFiniteUpdateError), undone_on_failure(algorithm):
        algorithm.update(batches[2], Progress())
    assert same(before, state_of(algorithm))


def test_P8_a_snapshot_undoes_an_update_of_one_policy_among_several(batches: list[Batch]):
    algorithm, _ = create("scout")
    take(algorithm, batches[0])
    take(algorithm, batches[1])
    before, undo = state_of(algorithm), algorithm.snapshot()
    algorithm.update(batches[2], Progress())
    assert not same(before, state_of(algorithm))
    undo()
    assert same(before, state_of(algorithm)) and algorithm.commit() == {}


def test_C8_the_same_seed_gives_the_same_bits_and_another_does_not(batches: list[Batch]):
    def trained(seed: int, policy_id: str | None = None) -> dict[str, torch.Tensor]:
        algorithm, _ = create(policy_id, seed)
        for batch in batches:
            take(algorithm, batch)
        return state_of(algorithm)

    for seed in (1, 2, 3):
        assert same(trained(seed), trained(seed))
    assert not same(trained(1), trained(2)) and not same(trained(1), trained(1, "scout"))


def test_P7_statistics_that_move_on_apply_to_steps_of_before(batches: list[Batch]):
    losses: list[float] = []
    for shift in (0.0, 3.0):
        algorithm, policy = create()
        take(algorithm, batches[0])
        policy.normalisers["obs"].set_statistics(torch.full((3,), shift), torch.ones(3))
        losses.append(take(algorithm, batches[1])["train/q_value"])
    assert losses[0] != losses[1]


def test_P10_epsilon_and_rate_follow_the_run(batches: list[Batch]):
    algorithm, _ = create(learning_rate_schedule="linear", learning_rate=0.1, exploration_fraction=0.5)
    take(algorithm, batches[0])
    early, late = (take(algorithm, batches[1], Progress(1, steps, 1000)) for steps in (250, 900))
    # Half of the first half, from 1 to 0.02.
    assert (early["train/epsilon"], late["train/epsilon"]) == (pytest.approx(0.51), 0.02)
    assert (early["train/learning_rate"], late["train/learning_rate"]) == pytest.approx((0.075, 0.01))
    assert late["train/entropy"] < early["train/entropy"]


def test_D2_what_it_keeps_comes_back_bit_for_bit(batches: list[Batch]):
    one, policy = create(replay_ratio=0.33)
    take(one, batches[0])
    take(one, batches[1])
    other, copied = create(seed=9, replay_ratio=0.33)
    restore(one, policy, other, copied)
    assert same(state_of(one), state_of(other)) and one.state().document == other.state().document
    # The buffer is not kept; with the same steps in it both go on alike.
    assert other.buffer.num_steps == 0
    other.buffer.add(batches[0])
    other.buffer.add(batches[1])
    take(one, batches[2])
    take(other, batches[2])
    assert same(state_of(one), state_of(other))


PICTURE = BoxSpace(shape=[36, 36, 3], dtype="uint8")


@pytest.mark.parametrize(
    ("observation", "action", "masked"),
    [
        (PICTURE, DiscreteSpace(n=3), False),
        (DictSpace(spaces={"a": PICTURE, "b": BoxSpace(shape=[3])}), MultiDiscreteSpace(nvec=[2, 3]), True),
        (BoxSpace(shape=[4]), MultiBinarySpace(n=3), False),
        (BoxSpace(shape=[4]), DiscreteSpace(n=3), True),
        (SetSpace(max=5, shape=[2]), DiscreteSpace(n=3), False),
    ],
    ids=["picture", "mixed, several choices, masked", "bits", "masked", "set"],
)
def test_it_learns_from_pictures_mixed_observations_several_choices_and_masks(
    observation: ObservationSpace, action: ActionSpace, masked: bool
):
    game, network = describe(observation, action, action_mask=masked), PolicySettings(hidden_sizes=(16,))
    distribution, policy = build_distribution(game), build_policy(network, game, num_bins=NUM_BINS, seed=1)
    algorithm = Dqn(Learnable(policy, distribution, 3), DqnSettings(learning_starts=5, batch_size=8))
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    choices = distribution.num_outputs if masked else 0
    for version in range(3):
        batch = play(policy, distribution, horizon=6, slots=4, runs=2, invalid=0.3, masks=choices)
        report = take(algorithm, batch.at_version(version), Progress(version, 48 * version, 200))
    assert report["train/num_minibatches"] > 10 and report["train/loss"] > 0
    # The value is the same mean of the bins at all times, and no head has a bias.
    weights = {name for name, _ in policy.named_parameters()}
    weights -= {"value_head.weight", "value_head.bias", "policy_head.bias"}
    assert all(not torch.equal(before[name], policy.state_dict()[name]) for name in weights)


DQN = {
    "algorithm": "dqn",
    "dqn": {
        "horizon": HORIZON,
        "learning_starts": 100,
        "learning_rate": 0.01,
        "replay_ratio": 0.2,
        "exploration_initial_eps": 0.1,
    },
}


def ask(process: LearnerProcess, message: Warmup | Train) -> Published:
    process.send(message)
    found = process.receive()
    assert isinstance(found, Published) and found.rejected == [], found
    return found


def played(process: LearnerProcess, fleet: SignsFleet, last: Published, num_updates: int) -> Published:
    for _ in range(num_updates):
        rows = fleet.play(last.onnx, last.policy_version)
        last = ask(process, train_message(last.policy_version, rows, HORIZON))
    return last


def test_D2_a_run_that_saves_its_buffer_goes_on_with_it_after_a_kill(fleet: SignsFleet, tmp_path: Path):
    saving = {**DQN, "dqn": {**DQN["dqn"], "save_buffer_minutes": 1e-6}}
    begin = begin_for(fleet, tmp_path / "run", **saving)
    with LearnerProcess() as process:
        process.send(begin)
        assert isinstance(process.receive(), Ready)
        last = played(process, fleet, ask(process, Warmup(rows=fleet.play(None, 0))), 4)
        # The answer to a message comes after the save that follows the update before it.
        process.send(Export(out_dir=str(tmp_path / "export")))
        assert isinstance(process.receive(), Exported)
        process.process.kill()
    with LearnerProcess() as process:
        process.send(begin.model_copy(update={"resume": True}))
        ready = process.receive()
        assert isinstance(ready, Ready)
        (note,) = ready.notes
        assert re.fullmatch(r"the replay buffer continues with \d+ saved steps", note)
        again = played(process, fleet, last, 1)
        # Four batches of 128 steps.
        assert again.metrics["train/buffer_steps"] == 512.0 and "train/loss" in again.metrics


def test_a_batch_that_waits_ends_the_update_before_it(fleet: SignsFleet, tmp_path: Path):
    with LearnerProcess() as process:
        process.send(begin_for(fleet, tmp_path / "run", **DQN))
        assert isinstance(process.receive(), Ready)
        last = played(process, fleet, ask(process, Warmup(rows=fleet.play(None, 0))), 2)
        # 0.2 gradient steps for each of 128 steps.
        assert (last.metrics["train/num_minibatches"], last.metrics["train/replay_share"]) == (25.0, 1.0)
        process.send(Awaited(batch_id=last.policy_version))
        last = played(process, fleet, last, 1)
        assert last.metrics["train/num_minibatches"] == 1.0
        assert last.metrics["train/replay_share"] == pytest.approx(1 / 26)
        # That was of one batch alone.
        assert played(process, fleet, last, 1).metrics["train/replay_share"] == 1.0


def test_D2_a_run_learns_and_goes_on_after_a_kill_with_a_buffer_that_fills_again(
    fleet: SignsFleet, tmp_path: Path
):
    begin = begin_for(fleet, tmp_path / "run", **DQN)
    with LearnerProcess() as process:
        process.send(begin)
        assert isinstance(process.receive(), Ready)
        last = played(process, fleet, ask(process, Warmup(rows=fleet.play(None, 0))), 20)
        late = fleet.store["reward"][:, fleet.play(last.onnx, 20)].mean()
        process.process.kill()
    # Random play is right half the time.
    assert late > 0.8
    assert last.metrics["train/verify_largest_difference"] < 1e-4
    with LearnerProcess() as process:
        process.send(begin.model_copy(update={"resume": True}))
        ready = process.receive()
        assert isinstance(ready, Ready)
        assert (ready.policy_version, ready.weights_sha256) == (20, last.weights_sha256)
        (note,) = ready.notes
        assert "replay buffer" in note and "100 steps" in note
        again = played(process, fleet, last, 1)
        assert again.metrics["train/buffer_steps"] == 0.0 and "train/loss" not in again.metrics
        assert "train/loss" in played(process, fleet, again, 1).metrics
