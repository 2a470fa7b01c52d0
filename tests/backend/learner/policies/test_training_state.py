import base64
import json
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.errors import AttractError, CheckpointError
from attract.learner.checkpoints.checkpoint import Snapshot, load_checkpoint, write_checkpoint
from attract.learner.policies.policy_state import PolicyState
from attract.learner.policies.training_state import TrainingState
from attract.learner.registry import choose_algorithm
from attract.learner.verification import Tolerance
from attract.run.start_checks import NETWORK
from attract.schema.game import GameDescription, description_sha256
from attract.schema.learner import Counters
from attract.schema.spaces import BoxSpace, DictSpace
from attract.settings.run import PolicySettings, RunSettings
from learner_world import describe_signs


def create(
    seed: int = 3, *, inputs: int = 3, hidden: tuple[int, ...] = (8,), normalise: bool = True
) -> TrainingState:
    return TrainingState.create(
        describe_signs(inputs),
        PolicySettings(hidden_sizes=hidden),
        choose_algorithm(RunSettings.from_mapping({"ppo": {"normalize_observations": normalise}})),
        seed,
        torch.device("cpu"),
    )


def sole(state: TrainingState) -> PolicyState:
    """The state of its one policy."""
    (one,) = state.policies.values()
    return one


def train_a_little(state: TrainingState) -> None:
    for _ in range(3):
        outputs, value = sole(state).policy(
            {"obs": torch.randn(16, 3, generator=sole(state).algorithm.generator)}
        )
        sole(state).algorithm.optimizer.zero_grad()
        (outputs.square().mean() + value.sum()).backward()
        sole(state).algorithm.optimizer.step()
    state.policy_version += 1


def saved(state: TrainingState, folder: Path):
    return load_checkpoint(write_checkpoint(folder, state.snapshot({"run_id": "run-1"})))


def test_C8_the_same_seed_gives_the_same_version_0_and_another_another():
    hashes = [create(seed).weights_sha256() for seed in (3, 3, 4)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_D2_a_restored_state_goes_on_bit_for_bit(tmp_path: Path):
    state = create()
    sole(state).observation_statistics = {
        "obs": RunningMoments.of(torch.randn(50, 3), torch.ones(50, dtype=torch.bool))
    }
    sole(state).apply_statistics()
    train_a_little(state)
    state.counters = Counters(agent_steps=512, updates=1, global_episode_index=9)
    state.curriculum = {"lesson": 2}
    sole(state).tolerance = Tolerance(12, 3.25e-7)
    checkpoint = saved(state, tmp_path)

    other = create(seed=99)
    other.restore(checkpoint)
    assert other.policy_version == 1
    assert other.counters == state.counters and other.curriculum == {"lesson": 2}
    assert sole(other).tolerance == Tolerance(12, 3.25e-7)
    assert sole(other).statistics["obs"].count == 50
    assert torch.equal(
        sole(other).statistics["obs"].squared_deviations, sole(state).statistics["obs"].squared_deviations
    )
    assert other.weights_sha256() == state.weights_sha256() == checkpoint.document["weights_sha256"]
    # The optimizer's moments and the random state show only in what comes next.
    train_a_little(state)
    train_a_little(other)
    assert other.weights_sha256() == state.weights_sha256()


def test_D2_a_state_without_optimizer_steps_is_restored_too(tmp_path: Path):
    state = create(normalise=False)
    other = create(seed=99, normalise=False)
    other.restore(saved(state, tmp_path))
    train_a_little(state)
    train_a_little(other)
    assert other.weights_sha256() == state.weights_sha256()


def test_adopting_takes_weights_and_normaliser_and_nothing_else(tmp_path: Path):
    state = create()
    sole(state).observation_statistics = {
        "obs": RunningMoments.of(torch.full((4, 3), 2.0), torch.ones(4, dtype=torch.bool))
    }
    sole(state).apply_statistics()
    train_a_little(state)
    state.counters = Counters(agent_steps=512, updates=1)
    other = create(seed=99)
    random_state = sole(other).algorithm.generator.get_state()
    other.adopt(saved(state, tmp_path))
    assert other.weights_sha256() == state.weights_sha256()
    assert sole(other).statistics["obs"].count == 4 and sole(other).statistics["obs"].mean.tolist() == [
        2.0,
        2.0,
        2.0,
    ]
    assert other.policy_version == 0 and other.counters == Counters()
    assert len(sole(other).algorithm.optimizer.state) == 0
    assert torch.equal(sole(other).algorithm.generator.get_state(), random_state)


def test_a_checkpoint_of_another_network_is_refused_naming_each_tensor(tmp_path: Path):
    checkpoint = saved(create(hidden=(8,)), tmp_path)
    with pytest.raises(CheckpointError) as refused:
        create(hidden=(16,)).adopt(checkpoint)
    text = str(refused.value)
    assert "trunk.0.weight: this network has [16, 3], the checkpoint [8, 3]" in text
    assert "policy_head.weight: this network has [2, 16], the checkpoint [2, 8]" in text
    with pytest.raises(
        CheckpointError, match=r"normaliser\.mean: this network has none, the checkpoint \[3\]"
    ):
        create(normalise=False).adopt(checkpoint)


@pytest.mark.parametrize("lacking", ["counters", "random_state", "verification", "curriculum"])
def test_D2_a_checkpoint_that_lacks_what_resuming_needs_is_refused(tmp_path: Path, lacking: str):
    state = create(normalise=False)
    document = json.loads(state.snapshot({}).files["checkpoint.json"])
    del document[lacking]
    partial = Snapshot.take(0, sole(state).policy.state_dict(), {}, document)
    with pytest.raises(CheckpointError, match="missing or damaged"):
        create(normalise=False).restore(load_checkpoint(write_checkpoint(tmp_path, partial)))


def test_a_checkpoint_is_tensors_and_json_and_no_pickle(tmp_path: Path):
    state = create()
    train_a_little(state)
    checkpoint = saved(state, tmp_path)
    assert "observation_statistics.mean" in checkpoint.policy
    assert "trunk.0.weight/exp_avg_sq" in checkpoint.optimizer
    assert checkpoint.document["run_id"] == "run-1"
    state_bytes = base64.b64decode(checkpoint.document["random_state"]["shuffle"])
    assert len(state_bytes) == sole(state).algorithm.generator.get_state().numel()
    for file in checkpoint.path.iterdir():
        # Protocol 2 and up begin with this opcode; torch.save wraps it into a zip.
        assert not file.read_bytes().startswith((b"\x80", b"PK"))


def test_the_description_hash_changes_with_the_description():
    game = describe_signs()
    other = GameDescription.model_validate({**game.model_dump(), "id": "Signs-v2"})
    assert description_sha256(game) == description_sha256(describe_signs()) != description_sha256(other)


def other_values(section: type[Any]) -> dict[str, list[Any]]:
    """By setting, values besides the default; some of them cannot be used."""
    found: dict[str, list[Any]] = {}
    for name, field in section.model_fields.items():
        value = field.get_default()
        words = [word for word in get_args(field.annotation) if isinstance(word, str)]
        numbers = [value * 2 + 1, value / 2] if isinstance(value, int | float) else [7, [9]]
        found[name] = words or ([not value] if isinstance(value, bool) else numbers)
    return found


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_D2_the_settings_that_a_checkpoint_depends_on_are_those_that_a_resume_compares(
    algorithm: str, tmp_path: Path
):
    # Pixels and a memory: else the settings of both would not matter.
    pixels = BoxSpace(shape=[36, 36, 1], low=0.0, high=255.0, dtype="uint8")
    observation = DictSpace(spaces={"see": pixels, "feel": BoxSpace(shape=[2])})
    game = describe_signs().model_copy(update={"observation": observation})

    def state(section: str, given: dict[str, Any]) -> TrainingState:
        policy = {"recurrent": "gru" if algorithm == "ppo" else "none", "hidden_sizes": [8]}
        layers = {"policy": policy, "algorithm": algorithm}
        run = RunSettings.from_mapping({**layers, section: {**layers.get(section, {}), **given}})
        return TrainingState.create(game, run.policy, choose_algorithm(run), 3, torch.device("cpu"))

    folder = saved(state("policy", {}), tmp_path)
    own = RunSettings.model_fields[algorithm].get_default()
    compared = {*NETWORK, *own.kept, *(["recurrent_size"] if algorithm == "ppo" else [])}
    refused: set[str] = set()
    for section, settings in (("policy", PolicySettings), (algorithm, type(own))):
        for name, values in other_values(settings).items():
            for value in values:
                try:
                    other = state(section, {name: value})
                except AttractError:
                    continue
                try:
                    other.restore(folder)
                except CheckpointError:
                    refused.add(name)
    # An activation changes no tensor, nor does what the bins of returns stand for.
    no_tensor = {"activation", "return_limit"} & compared
    assert refused | no_tensor == compared - ({"recurrent", "shared_trunk"} if algorithm == "dqn" else set())
