"""What is refused before a run's folder exists and before a browser or a learner starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.run.start_checks import (
    check_device,
    check_named,
    check_resumed,
    check_same_spaces,
    check_source,
    trained_steps,
)
from attract.runs.checkpoint_document import sealed
from attract.runs.directory import RunDirectory
from attract.schema.game import GameReference
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.settings.given import Layer, LayeredSettings, from_aliases, join_layers
from attract.settings.run import RunSettings
from socket_fleet import DESCRIPTION

GAME = GameReference(name="counting", sha256="a" * 64, url="games/x.js")


def past_run(
    runs_dir: Path, settings: dict[str, Any] | None = None, *, steps: int | None = 640
) -> RunDirectory:
    """A run that has trained so many steps; None: that never had a policy."""
    directory = RunDirectory.create(runs_dir, "past")
    directory.write_config("counting", RunSettings.from_mapping(settings or {}).model_dump(mode="json"))
    directory.write_game(GAME, DESCRIPTION)
    if steps is not None:
        (directory.checkpoints / "5").mkdir()
        (directory.checkpoints / "5" / "checkpoint.json").write_text(
            json.dumps(sealed(5, {"counters": {"agent_steps": steps}}))
        )
        directory.mark("latest", 5)
    directory.close()
    return directory


def refused(check: Any, *arguments: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        check(*arguments)
    return str(caught.value)


async def test_a_device_that_is_not_there_is_refused() -> None:
    import torch

    await check_device("auto")
    await check_device("cpu")
    if torch.cuda.is_available():
        await check_device("cuda")
    else:
        with pytest.raises(ConfigurationError, match="no CUDA device on this machine\n  give auto or cpu"):
            await check_device("cuda")


def given(values: dict[str, Any], beneath: dict[str, Any] | None = None) -> LayeredSettings:
    return join_layers(Layer(beneath or {}), Layer(values))


def test_demonstrations_that_are_not_there_are_named_as_they_were_given() -> None:
    chosen = join_layers(Layer({}), from_aliases(demonstrations="gone"))
    assert refused(check_named, chosen, {}).startswith("--demonstrations: there is no file or folder ")


def test_the_steps_of_a_run_are_those_of_its_newest_version(tmp_path: Path) -> None:
    assert trained_steps(past_run(tmp_path / "a")) == 640
    assert trained_steps(past_run(tmp_path / "b", steps=None)) == 0


def test_a_total_that_has_been_trained_already_is_refused(tmp_path: Path) -> None:
    directory = past_run(tmp_path)
    text = refused(check_resumed, directory, given({"total_steps": 640}))
    assert "total_steps 640: run past has trained 640 steps already" in text and "more than 640" in text
    check_resumed(directory, given({"total_steps": 641}))
    # The total that it had: what is done is done.
    check_resumed(directory, given({}, {"total_steps": 640}))


NETWORKS = [
    ({"policy": {"hidden_sizes": [8]}}, "policy.hidden_sizes: run past has 64,64, asked for is 8"),
    ({"policy": {"activation": "relu"}}, "policy.activation: run past has the default, asked for is relu"),
    ({"policy": {"shared_trunk": True}}, "policy.shared_trunk: run past has False"),
    ({"policy": {"recurrent": "gru"}}, "policy.recurrent: run past has none, asked for is gru"),
]


@pytest.mark.parametrize(("asked", "expected"), NETWORKS)
def test_another_network_is_refused(tmp_path: Path, asked: dict[str, Any], expected: str) -> None:
    directory, settings = past_run(tmp_path), given(asked)
    assert expected in refused(check_resumed, directory, settings)
    assert expected in refused(check_source, directory, settings.run)


def test_the_size_of_a_core_that_is_not_there_does_not_matter(tmp_path: Path) -> None:
    directory = past_run(tmp_path)
    settings = given({"policy": {"recurrent_size": 8}})
    check_resumed(directory, settings)
    assert check_source(directory, settings.run) == str((directory.checkpoints / "5").resolve())


def test_other_policies_are_refused_and_a_sole_one_is_given_to_all(tmp_path: Path) -> None:
    duo = given({"collection": {"seats": "scout,keeper"}})
    trio = given({"collection": {"seats": "scout,keeper,third"}})
    held = past_run(tmp_path / "a", {"collection": {"seats": "scout,keeper"}})
    check_resumed(held, duo)
    assert "this run has scout, keeper, third, the checkpoint scout, keeper" in refused(
        check_resumed, held, trio
    )
    assert "none named third" in refused(check_source, held, trio.run)
    assert "none named main" in refused(check_source, held, RunSettings())
    check_source(past_run(tmp_path / "b"), trio.run)


def test_a_run_without_a_policy_is_nothing_to_start_from_but_can_be_gone_on_with(tmp_path: Path) -> None:
    directory = past_run(tmp_path, steps=None)
    assert "run past has no policy yet" in refused(check_source, directory, RunSettings())
    check_resumed(directory, given({"policy": {"hidden_sizes": [8]}}))


def test_a_game_of_other_spaces_is_refused_and_other_bounds_are_not(tmp_path: Path) -> None:
    checkpoint = past_run(tmp_path).checkpoints / "5"
    assert isinstance(DESCRIPTION.observation, BoxSpace) and isinstance(DESCRIPTION.action, DiscreteSpace)
    check_same_spaces(checkpoint, DESCRIPTION)
    wider = DESCRIPTION.observation.model_copy(update={"high": 1e9})
    check_same_spaces(checkpoint, DESCRIPTION.model_copy(update={"observation": wider}))
    other = DESCRIPTION.model_copy(update={"observation": BoxSpace(shape=[9])})
    assert "run past was trained with other observations: " in refused(check_same_spaces, checkpoint, other)
    more = DESCRIPTION.model_copy(update={"action": DiscreteSpace(n=9)})
    assert "run past was trained with other actions: " in refused(check_same_spaces, checkpoint, more)
