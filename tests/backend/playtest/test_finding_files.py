"""The episodes and tests of a report's findings in a folder."""

from pathlib import Path

import pytest

from attract.games.library import GameLibrary
from attract.playtest.finding_files import game_under_test, write_finding_files
from attract.playtest.playwright_test import TestedModule, TestedPage
from attract.runs.episode_files import read_episode
from playtest_reports import failed, found
from recorded_episodes import recorded

GAME = """
import { box, defineGame, discrete } from "attract";
export default defineGame({
  id: "Own-v1", tickSeconds: 0.1, observation: box({ shape: [1] }), action: discrete(["a", "b"]),
  create: () => ({ start: () => [0], update: () => ({ observation: [0], reward: 0, terminated: true }) }),
});
"""


def test_each_finding_with_an_episode_has_both_under_names_of_its_own(tmp_path: Path) -> None:
    number = found(recorded(), id="changed:return:lower", oracle="changed", episode_file=None, test_file=None)
    slow = found(id="slow", oracle="slow", episode_file=None, test_file=None)
    run = failed(found(recorded()), found(recorded(steps=9)), number, slow)
    run, written = write_finding_files(run, tmp_path / "out", TestedModule("../game.ts"), b"")
    assert sorted(path.name for path in written) == sorted(
        [
            *("attract-test.js", "changed-return-lower.episode.json"),
            *("error-2.episode.json", "error-2.spec.ts", "error.episode.json", "error.spec.ts"),
        ]
    )
    assert all(path.is_file() and path.parent == tmp_path / "out" for path in written)
    names = [(finding.episode_file, finding.test_file) for finding in run.findings]
    assert names == [
        ("error.episode.json", "error.spec.ts"),
        ("error-2.episode.json", "error-2.spec.ts"),
        ("changed-return-lower.episode.json", None),
        (None, None),
    ]
    assert read_episode(tmp_path / "out" / "error-2.episode.json").num_steps == 9


def test_without_a_test_nothing_of_ours_lies_in_the_folder(tmp_path: Path) -> None:
    number = found(recorded(), id="changed:return:lower", oracle="changed")
    _, written = write_finding_files(failed(number), tmp_path, TestedModule("../game.ts"), b"")
    assert [path.name for path in written] == ["changed-return-lower.episode.json"]


async def test_a_test_names_the_games_source_or_keeps_its_bundle(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "game.ts").write_text(GAME)
    games = GameLibrary(tmp_path)
    own = await games.resolve("src/game.ts")
    out = tmp_path / "playtest"
    assert game_under_test(games, own, tmp_path, None, out) == TestedModule("../src/game.ts")
    bundled = await games.resolve("cartpole")
    game = game_under_test(games, bundled, tmp_path, None, out)
    assert game == TestedModule("./game.js")
    _, written = write_finding_files(failed(found(recorded())), out, game, bundled.code)
    assert (out / "game.js") in written and (out / "game.js").read_bytes() == bundled.code


async def test_a_page_is_named_by_its_folder_or_its_address(tmp_path: Path) -> None:
    games = GameLibrary(tmp_path)
    module = await games.resolve("meteors")
    folder = games.adapter_folder(module.reference)
    assert folder is not None
    game = game_under_test(games, module, tmp_path, "index.html", folder / "out")
    assert game == TestedPage("..", "index.html")
    served = game_under_test(games, module, tmp_path, "http://localhost:5173/", tmp_path)
    assert served == TestedPage("http://localhost:5173/", "")
    _, written = write_finding_files(failed(found(recorded())), tmp_path / "out", game, b"// adapter")
    assert (tmp_path / "out" / "adapter.js").read_bytes() == b"// adapter"
    assert len(written) == 4


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(OSError):
        write_finding_files(failed(found(recorded())), tmp_path / "out", TestedModule("../game.ts"), b"")
