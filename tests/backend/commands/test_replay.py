"""`attract replay`: which episodes are meant, and what is said of each; no browser is started."""

import json
from pathlib import Path

import pytest
from tests.backend.schema.test_recorded_episode import EPISODE

from attract.commands import replay as module
from attract.commands.replay import Recorded, ReplayOptions, replay_episodes
from attract.errors import ConfigurationError
from attract.runs.episode_files import written
from attract.schema.recorded_episode import EpisodeDifference, EpisodeReplay, RecordedEpisode
from attract.settings.run import ServerSettings


def one(**changed: object) -> RecordedEpisode:
    return RecordedEpisode.model_validate({**EPISODE, **changed})


def run_with(runs: Path, **episodes: RecordedEpisode) -> ServerSettings:
    """A run that keeps these episodes."""
    folder = runs / "run-1" / "episodes"
    folder.mkdir(parents=True)
    for name, episode in episodes.items():
        (folder / f"{name}.json").write_bytes(written(episode))
    (runs / "run-1" / "config.yaml").write_text("game: cartpole\nsettings: {}\n")
    return ServerSettings.from_mapping({"runs_dir": runs})


@pytest.mark.parametrize(
    ("episode", "chosen", "text"),
    [
        ("gone.episode.json", None, r"gone\.episode\.json: cannot be read|no such file"),
        ("empty", None, r"no file in it ends in \.episode\.json"),
        ("run-1", None, "which episode of the run"),
        ("run-1:z", None, "run-1 keeps no episode z\n  its newest ones: "),
        ("run-1:../../secret", None, "keeps no episode"),
        ("run-1", "failed", "--failed: run-1 keeps no such episode"),
        ("run-9:a", None, "run-9"),
    ],
)
async def test_an_episode_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episode: str, chosen: module.Chosen | None, text: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    server = run_with(tmp_path / "runs", a=one(), b=one(returns=[1.0]))
    with pytest.raises(ConfigurationError, match=text):
        await replay_episodes(ReplayOptions(episode, chosen), server)


async def test_the_build_is_asked_for_where_nothing_here_is_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.json").write_bytes(written(one()))
    server = ServerSettings.from_mapping({"runs_dir": tmp_path / "runs", "project_dir": tmp_path, "port": 0})
    with pytest.raises(ConfigurationError, match=r"(?s)CartPole-v1, is not known here.*--game PATH"):
        await replay_episodes(ReplayOptions("one.json"), server)


def test_best_and_worst_are_those_of_the_returns_and_a_failure_is_neither(tmp_path: Path):
    failed = one(
        returns=[-9.0],
        end_reason="failed",
        error={"kind": "throw", "name": "TypeError", "text": "x", "tick": 3},
    )
    server = run_with(tmp_path, a=one(returns=[2.0]), b=one(returns=[5.0]), c=failed)
    chosen = {
        name: module.find_recorded(ReplayOptions("run-1", name), server)[1][0].name
        for name in ("best", "worst", "failed")
    }
    assert chosen == {"best": "run-1:b", "worst": "run-1:a", "failed": "run-1:c"}


def test_many_episodes_are_ordered_in_parts_that_a_message_holds(monkeypatch: pytest.MonkeyPatch):
    recorded = [Recorded(str(n), one()) for n in range(40)]
    parts = list(module.in_orders(recorded))
    assert [len(part) for part in parts] == [16, 16, 8]
    assert [single.name for part in parts for single in part] == [str(n) for n in range(40)]
    monkeypatch.setattr(module, "ORDER_BYTES", 10)
    assert [len(part) for part in module.in_orders(recorded[:5])] == [2, 2, 1]


def test_a_difference_is_said_with_its_second_and_its_step():
    replay = EpisodeReplay(
        equal=False,
        difference=EpisodeDifference(step=184, seconds=12.27, text="the agent sees something else"),
        returns=[1.0],
        num_steps=184,
        num_ticks=184,
        end_reason="stopped",
        play_seconds=0.1,
    )
    recorded = Recorded("one", one())
    assert module.replay_text(recorded, replay) == (
        "differs at 12.3 s (step 184): the agent sees something else"
    )
    equal = replay.model_copy(update={"equal": True, "difference": None, "num_steps": 3, "returns": [3.0]})
    assert module.replay_text(recorded, equal) == "equal: 3 steps (0.1 s), return 3, terminated"
    assert json.dumps(replay.model_dump(mode="json"))
