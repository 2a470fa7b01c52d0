"""`attract probe`: what it prints and writes, and the drafts it tries; tests/end_to_end has a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attract.commands import probe
from attract.commands.json_output import MAX_ANSWER_BYTES, json_text, shortened
from attract.commands.new import create_project
from attract.commands.probe import ProbeOptions, adapter_of, found_lines, missing, write_adapter
from attract.commands.probe_drafts import settle
from attract.errors import ConfigurationError
from attract.games.page_places import page_place
from attract.schema.api import CheckFinding, CheckView
from attract.schema.game_messages import CheckedPlay
from attract.schema.probe import PageProbe, ProbeChoice, ProbeDraft, ProbePlace, ProbeReport, ProbeVerified
from attract.settings.run import ServerSettings
from probed import STARTER, probed
from servers import free_port
from socket_fleet import DESCRIPTION

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
    text = json_text(shortened(report, json_text, probe.CUT))
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


# The score grew 40 times in 1,000 frames; each play below has 1,000 steps or more, so 40 are expected.
BARE = probed(
    score="w.first",
    end="w.isFirst",
    candidates={
        "press": [
            {"taps": True, "ticks_per_step": 4, "why": "seen"},
            {"taps": True, "ticks_per_step": 10, "why": "longer"},
            {"taps": False, "ticks_per_step": 10, "why": "held"},
        ],
        "score": [
            {"text": f"w.{name}", "why": "grew", "ups": 40, "frames": 1000, "low": 0, "high": 40}
            for name in ("first", "second")
        ],
        "end": [
            {"text": f"w.{name}", "why": "came", "ended": 10, "plays": 10, "frames": 1000}
            for name in ("isFirst", "isSecond")
        ],
        "restart": [
            {"kind": "call", "text": "w.begin()", "why": "works"},
            {"kind": "page", "text": "a fresh page", "why": "works"},
        ],
    },
)


def play(
    paid: int = 100,
    ended: int = 10,
    length: float = 100.0,
    finding: str | None = None,
    episodes: int = 10,
    deviation: float = 3.0,
) -> CheckView:
    found = [] if finding is None else [finding_of(finding)]
    checked = CheckedPlay(
        steps=1000,
        episodes=episodes,
        return_mean=2.0,
        return_std=deviation,
        length_mean=length,
        terminated=ended,
        paid_steps=paid,
        microseconds_per_tick=1.0,
        create_milliseconds=1.0,
    )
    return CheckView(
        game="g", findings=found, description=DESCRIPTION, play=checked, unplayable=False, seconds=1.0
    )


def finding_of(name: str) -> CheckFinding:
    values: dict[str, Any] = {"id": name, "severity": "error", "text": name, "fix": "fix it"}
    return CheckFinding(**values, file=None, line=None, column=None, stack=None)


async def settled(
    playing: Callable[[ProbeChoice], CheckView],
    seconds: float = 60.0,
    found: PageProbe = BARE,
    *,
    has_player: bool = False,
) -> tuple[ProbeDraft, ProbeVerified]:
    async def write(choice: ProbeChoice, unfinished: list[str]) -> ProbeDraft:
        text = choice.model_dump_json(exclude=None if has_player else {"reached"})
        return ProbeDraft(adapter=text, score=None, end=None, restart=None, taps=False, unfinished=unfinished)

    async def playing_of(draft: ProbeDraft) -> CheckView:
        return playing(ProbeChoice.model_validate_json(draft.adapter))

    clock = iter(range(100))
    return await settle(found, write, playing_of, now=lambda: float(next(clock)), seconds=seconds)


async def test_what_plays_as_it_was_seen_is_kept_and_played_once() -> None:
    draft, verified = await settled(lambda _: play())
    assert (verified.play.choice, len(verified.tried), verified.open) == (ProbeChoice(), 1, [])
    # 3 over the root of 10 episodes.
    assert verified.play.standard_error == pytest.approx(0.9487, abs=1e-4)
    assert draft.unfinished == []


async def test_taps_that_are_too_short_become_longer() -> None:
    _, verified = await settled(lambda choice: play(paid=100 if choice.press == 2 else 0))
    assert verified.play.choice == ProbeChoice(press=2)
    assert [tried.choice.press for tried in verified.tried] == [0, 1, 2]


async def test_a_wrong_first_score_gives_way_to_the_next_after_the_safer_remedies() -> None:
    _, verified = await settled(lambda choice: play(paid=100 if choice.score == 1 else 0))
    assert verified.play.choice == ProbeChoice(score=1)
    assert ProbeChoice(restart=1) in [tried.choice for tried in verified.tried]


async def test_a_wrong_first_end_gives_way_to_the_next() -> None:
    def playing(choice: ProbeChoice) -> CheckView:
        return play() if choice.end == 1 else play(length=1.0, finding="over-at-once")

    _, verified = await settled(playing)
    assert (verified.play.choice, verified.open) == (ProbeChoice(end=1), [])


async def test_episodes_far_shorter_than_in_the_probe_are_over_at_once() -> None:
    # 1,000 frames of 10 plays are 100 each; an episode of a step or two is a twentieth of that and less.
    short = 4 / DESCRIPTION.ticks_per_step
    _, verified = await settled(lambda choice: play() if choice.restart == 1 else play(length=short))
    assert verified.play.choice == ProbeChoice(restart=1)


async def test_what_no_candidate_mends_is_unfinished() -> None:
    draft, verified = await settled(lambda _: play(paid=0))
    assert (draft.unfinished, verified.open) == (["score"], ["score"])
    assert verified.play.choice == ProbeChoice()


async def test_a_score_that_is_the_same_however_it_is_played_gives_way_to_the_next() -> None:
    # Episodes of random play are too long to compare, until they are cut.
    def playing(choice: ProbeChoice) -> CheckView:
        is_clock = choice.score == 0
        if choice.max_seconds == ProbeChoice().max_seconds:
            return play(ended=0, episodes=2, deviation=0.0 if is_clock else 3.0)
        return play(ended=0, episodes=20, deviation=1e-9 if is_clock else 3.0)

    endless = [end.model_copy(update={"ended": 0}) for end in BARE.candidates.end]
    found = BARE.model_copy(update={"candidates": BARE.candidates.model_copy(update={"end": endless})})
    _, verified = await settled(playing, found=found)
    assert (verified.play.choice, verified.open) == (ProbeChoice(score=1, max_seconds=30), [])
    # Without another it is unfinished.
    draft, verified = await settled(lambda _: play(ended=0, deviation=0.0), found=found)
    assert (draft.unfinished, verified.open) == (["score"], ["score"])
    # Time alive is a score where the game ends.
    _, verified = await settled(lambda _: play(ended=1, deviation=0.0), found=found)
    assert verified.open == []


async def test_a_score_that_chance_hardly_meets_is_helped_by_a_reward_for_staying_alive() -> None:
    # A score of ten points or more in 100 episodes is none of these.
    def playing(choice: ProbeChoice) -> CheckView:
        return play(paid=1000 if choice.alive else 9, ended=100, episodes=100)

    _, verified = await settled(playing)
    assert verified.play.choice == ProbeChoice(alive=True)
    _, verified = await settled(lambda _: play(paid=10, ended=100, episodes=100))
    assert not verified.play.choice.alive


async def test_a_game_that_chance_does_not_lose_earns_nothing_by_staying_alive() -> None:
    _, verified = await settled(lambda _: play(paid=1, ended=2, episodes=20))
    assert not verified.play.choice.alive


async def test_a_win_that_chance_never_meets_is_helped_by_a_reward_for_new_places() -> None:
    # Ten episodes, four of which are won, at most.
    def playing(choice: ProbeChoice, wins: int = 4) -> CheckView:
        return play(paid=500 if choice.reached else wins, ended=wins)

    win = BARE.candidates.score[0].model_copy(update={"text": 'says(w, ["You win"])', "ups": 0})
    ends = [end.model_copy(update={"ended": 0}) for end in BARE.candidates.end]
    candidates = BARE.candidates.model_copy(update={"score": [win], "end": ends})
    found = BARE.model_copy(update={"score": win.text, "candidates": candidates})
    _, verified = await settled(playing, found=found, has_player=True)
    assert verified.play.choice == ProbeChoice(reached=True)
    # Where the player is not known, the adapter would be the same.
    _, verified = await settled(playing, found=found)
    assert verified.play.choice == ProbeChoice()
    _, verified = await settled(lambda choice: playing(choice, 5), found=found, has_player=True)
    assert not verified.play.choice.reached


async def test_a_score_that_chance_hardly_meets_is_helped_by_new_places_too() -> None:
    def playing(choice: ProbeChoice) -> CheckView:
        return play(paid=1000 if choice.alive or choice.reached else 9, ended=100, episodes=100)

    _, verified = await settled(playing, has_player=True)
    assert verified.play.choice == ProbeChoice(alive=True, reached=True)


async def test_a_game_without_a_score_is_about_staying_alive_unless_a_win_is_worth_a_point() -> None:
    _, verified = await settled(lambda _: play(), found=BARE.model_copy(update={"score": None}))
    assert verified.play.choice == ProbeChoice(score=None, alive=True)
    win = BARE.candidates.score[0].model_copy(update={"text": 'says(w, ["You win"])', "ups": 0})
    candidates = BARE.candidates.model_copy(update={"score": [win]})
    found = BARE.model_copy(update={"score": win.text, "candidates": candidates})
    _, verified = await settled(lambda _: play(paid=0), found=found)
    assert not verified.play.choice.alive


async def test_an_environment_that_says_all_itself_gets_no_reward_for_staying_alive() -> None:
    nothing = {part: [] for part in type(BARE.candidates).model_fields}
    found = BARE.model_copy(update={"candidates": BARE.candidates.model_copy(update=nothing)})
    _, verified = await settled(lambda _: play(paid=0), found=found)
    assert verified.play.choice == ProbeChoice()


async def test_an_end_that_never_comes_leaves_the_time_limit_and_nothing_unfinished() -> None:
    draft, verified = await settled(lambda _: play(ended=0))
    # Short episodes give more returns to compare.
    assert (draft.unfinished, verified.play.choice) == ([], ProbeChoice(max_seconds=30))
    assert verified.play.problems == ["the end does not come, and came in the probe"]


async def test_nothing_further_is_tried_once_the_time_is_over() -> None:
    _, verified = await settled(lambda _: play(paid=0), seconds=2.0)
    # The clock says 0 at first, and 1 and 2 before each further try.
    assert len(verified.tried) == 2
