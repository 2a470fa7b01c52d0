"""Recorded episodes that a command names: which are meant, and in which build they are played."""

from pathlib import Path

import pytest
from tests.backend.schema.test_recorded_episode import EPISODE

from attract.commands.episodes import Chosen, Recorded, find_build, find_recorded, run_of
from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.runs.episode_files import written
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings

CHOICES: tuple[Chosen, ...] = ("best", "worst", "failed")


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
def test_an_episode_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episode: str, chosen: Chosen | None, text: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    server = run_with(tmp_path / "runs", a=one(), b=one(returns=[1.0]))
    with pytest.raises(ConfigurationError, match=text):
        find_recorded(episode, chosen, server)


async def test_the_build_is_asked_for_where_nothing_here_is_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    server = ServerSettings.from_mapping({"runs_dir": tmp_path / "runs", "project_dir": tmp_path, "port": 0})
    recorded = Recorded("one.json", one())
    directory, server = run_of(None, recorded, None, server)
    with pytest.raises(ConfigurationError, match=r"(?s)Counting-v1, is not known here.*--game PATH"):
        await find_build(GameLibrary(tmp_path), None, directory, recorded, server)


def test_best_and_worst_are_those_of_the_returns_and_a_failure_is_neither(tmp_path: Path):
    failed = one(
        returns=[-9.0],
        end_reason="failed",
        error={"kind": "throw", "name": "TypeError", "text": "x", "tick": 3},
    )
    server = run_with(tmp_path, a=one(returns=[2.0]), b=one(returns=[5.0]), c=failed)
    chosen = {name: find_recorded("run-1", name, server)[1][0].name for name in CHOICES}
    assert chosen == {"best": "run-1:b", "worst": "run-1:a", "failed": "run-1:c"}


async def test_an_episode_is_played_again_on_its_device_whatever_the_adapter_says_now(tmp_path: Path):
    (tmp_path / "game.page.js").write_text("export default 1;")
    (tmp_path / "game.js").write_text("export default 1;")
    games = GameLibrary(tmp_path)
    server = ServerSettings.from_mapping({"project_dir": tmp_path})
    phone = await games.resolve("game.page.js", "phone")
    own = await games.resolve("game.page.js")

    async def build(game: str, **changed: object) -> bytes:
        return (await find_build(games, game, None, Recorded("one", one(**changed)), server)).code

    assert await build("game.page.js", device="phone") == phone.code
    assert await build("game.page.js", device="phone", game_sha256=own.reference.sha256) == own.code
    # An old one says nothing.
    assert (await build("game.page.js")).startswith(b'globalThis.attractDevice="desktop";')
    assert b"attractDevice" not in await build("game.js", device="phone")


async def test_a_device_is_for_games_in_pages(tmp_path: Path):
    (tmp_path / "game.js").write_text("export default 1;")
    with pytest.raises(ConfigurationError, match=r"page_device: game\.js lives in no page"):
        await GameLibrary(tmp_path, page_device="phone").resolve("game.js")
