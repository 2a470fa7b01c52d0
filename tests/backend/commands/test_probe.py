"""What `attract probe` prints and writes of a report; tests/end_to_end has a browser make one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import probe
from attract.commands.json_output import MAX_ANSWER_BYTES
from attract.commands.new import create_project
from attract.commands.probe import ProbeOptions, adapter_of, found_lines, json_text, missing, write_adapter
from attract.errors import ConfigurationError
from attract.games.page_places import page_place
from attract.schema.probe import ProbePlace, ProbeReport
from attract.settings.run import ServerSettings
from free_port import free_port
from probed import STARTER, probed

FOUND = probed(
    title="Flappy",
    contracts=["advanceTime(ms)"],
    starter={**STARTER, "kind": "element", "selector": "#go", "text": "Play"},
    moves=["space"],
    taps=True,
    num_places=31,
    seen=[f"w.game.n{i}" for i in range(10)],
    unheld=["asks example.com for something, which it does not get"],
    errors=["no sound"],
    unfinished=["score"],
)
ADAPTER = 'export default definePageGame({\n  page: "dist/index.html",\n});\n'


def test_what_was_found_is_said_line_by_line() -> None:
    text = "\n".join(found_lines(FOUND))
    assert "Flappy: made with no known engine" in text
    assert "advanceTime(ms)" in text
    assert "by a click on #go ('Play')" in text
    assert "space (each press counts once)" in text
    assert "31 readable variables; the observation takes 10" in text and "and 2 more" in text
    assert "score:    not found" in text
    assert "end:      not found: an episode ends by its time limit" in text
    assert "it asks example.com" in text and "threw:    no sound" in text
    assert missing(FOUND.unfinished) == ["the score"]
    assert missing(["keys", "observe"]) == ["what it may press", "what an agent sees"]


def test_where_nothing_is_in_reach_the_canvas_is_what_an_agent_sees() -> None:
    starter = FOUND.starter.model_copy(update={"kind": "none"})
    none = {"moves": [], "cut": ["controls"], "listens": ["touchstart"], "starter": starter}
    lines = found_lines(FOUND.model_copy(update=none))
    assert "  start:    not found in the time that there was" in lines
    assert (
        "  listens:  touchstart" in lines
        and "  cut:      the time was up while controls were looked for" in lines
    )
    found = FOUND.model_copy(update={"seen": [], "sees_pixels": True})
    assert "the agent observes its canvas (train with --preset pixels)" in "\n".join(found_lines(found))


def test_the_adapter_names_its_page_as_from_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "web" / "dist").mkdir(parents=True)
    (tmp_path / "web" / "dist" / "index.html").write_text("<html></html>")
    place = page_place(str(tmp_path / "web" / "dist"), tmp_path / "runs")
    write_adapter(tmp_path / "flappy.page.ts", place, ADAPTER)
    assert 'page: "web/dist/index.html"' in (tmp_path / "flappy.page.ts").read_text()


async def test_a_page_with_an_adapter_is_not_probed_and_one_with_two_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text("<html></html>")
    (tmp_path / "one.page.ts").write_text('definePageGame({ page: "index.html" })')
    server = ServerSettings(runs_dir=tmp_path / "runs")
    assert await adapter_of(str(tmp_path), server) == tmp_path / "one.page.ts"
    assert "one.page.ts" in capsys.readouterr().err
    (tmp_path / "two.page.ts").write_text('definePageGame({ page: "index.html" })')
    with pytest.raises(ConfigurationError, match="has 2 adapters"):
        await adapter_of(str(tmp_path), server)


async def test_a_server_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = f"http://localhost:{free_port()}/"
    with pytest.raises(ConfigurationError, match=f"nothing answers at {address}") as refused:
        await adapter_of(address, ServerSettings(runs_dir=tmp_path / "runs"))
    assert refused.value.fix is not None and "start the page's server" in refused.value.fix


async def test_an_adapter_of_another_page_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text("<html></html>")
    adapter = tmp_path / "game.page.ts"
    adapter.write_text('definePageGame({ page: "index.html" })')
    with pytest.raises(ConfigurationError, match=r"game\.page\.ts is for another page than") as refused:
        await adapter_of(str(tmp_path / "dist"), ServerSettings(runs_dir=tmp_path / "runs"))
    assert refused.value.fix is not None and 'page: "dist/index.html"' in refused.value.fix
    assert "dist" not in adapter.read_text()


async def test_a_page_that_plays_a_game_of_its_folder_is_not_looked_into(tmp_path: Path) -> None:
    create_project(tmp_path / "my-game", "pure")
    with pytest.raises(ConfigurationError, match="not a game") as refused:
        await adapter_of(str(tmp_path / "my-game"), ServerSettings(runs_dir=tmp_path / "runs"))
    assert refused.value.fix is not None and refused.value.fix.endswith("my-game/src/game.ts")
    assert not (tmp_path / "my-game" / "game.page.ts").exists()


def test_an_answer_is_cut_to_its_length_and_says_what_went() -> None:
    place = ProbePlace(
        path="w.game.stones",
        kind="list",
        first=1.0,
        low=0.0,
        high=8.0,
        ups=5,
        downs=4,
        moved_by={"left": "down"},
        at_end=3.0,
    )
    candidates = FOUND.candidates.model_copy(update={"places": [place] * 100})
    report = ProbeReport(
        **{**dict(FOUND), "candidates": candidates}, adapter="game.page.ts", verified=None, left_out={}
    )
    text = json_text(report)
    assert len(text) <= MAX_ANSWER_BYTES
    read = ProbeReport.model_validate_json(text)
    assert len(read.candidates.places) + read.left_out["places"] == 100
    assert read.candidates.places[0] == place


def test_probe_takes_a_window_of_two_numbers(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    probed: list[tuple[str, ProbeOptions]] = []

    async def probe_page(page: str, options: ProbeOptions, server: ServerSettings) -> int:
        probed.append((page, options))
        return server.port

    monkeypatch.setattr(probe, "probe_page", probe_page)
    assert attract("probe", "./dist", "--size", "640", "480", "--out", "a.ts", "--force") == 0
    assert probed == [("./dist", ProbeOptions(out=Path("a.ts"), size=(640, 480), force=True))]
