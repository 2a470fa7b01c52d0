"""The corpus of planted faults fits the games as they are; `make corpus` plays it."""

from dataclasses import replace
from pathlib import Path

import pytest

import planted_faults as corpus
from attract.playtest.sight import SIGHTS

GAMES = corpus.load()
SIGHT = corpus.load(corpus.CORPUS.parent / "sight")
CHANGE = corpus.Change("size", "Larger.", "game.js", (("size = 1", "size = 2"),), ("changed",))


def test_ten_games_of_at_least_four_engines_have_ten_faults_each():
    pages = [game for game in GAMES if game.entry == "game.page.ts"]
    assert (len(GAMES), len(pages)) == (10, 5)
    assert len({game.engine for game in pages}) >= 4
    for game in GAMES:
        assert len(game.faults) == corpus.NUM_FAULTS
        assert all(fault.oracles for fault in game.faults)
        assert len(game.harmless) == 2 and not any(change.oracles for change in game.harmless)
        assert len({change.name for change in game.changes}) == len(game.changes)


def test_all_cases_are_a_hundred_faults_two_hundred_clean_runs_and_forty_harmless_ones():
    kinds = [case.kind for game in GAMES for case in corpus.cases_of(game)]
    assert [kinds.count(kind) for kind in ("fault", "clean", "harmless")] == [100, 200, 40]


def test_four_games_have_a_fault_of_each_kind_of_sight():
    for game in SIGHT:
        assert [fault.oracles for fault in game.faults] == [(name,) for name in SIGHTS]


@pytest.mark.parametrize("game", [*GAMES, *SIGHT], ids=lambda game: game.name)
def test_every_change_still_fits_the_sources(game: corpus.CorpusGame):
    assert [problem for change in game.changes for problem in change.problems(game.folder)] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({}, ""),
        ({"edits": (("size = 3", "size = 2"),)}, "is in game.js 0 times"),
        ({"edits": (("size", "length"),)}, "is in game.js 2 times"),
        ({"edits": (("size = 1", "size = 1"),)}, "changes nothing"),
        ({"file": "gone.js"}, "there is no gone.js"),
        ({"oracles": ("chnged",)}, "there is no oracle 'chnged'"),
    ],
)
def test_a_change_that_does_not_fit_is_a_problem(change: dict[str, object], says: str, tmp_path: Path):
    (tmp_path / "game.js").write_text("let size = 1;\nlet limit = size;\n")
    problems = replace(CHANGE, **change).problems(tmp_path)
    assert says in "".join(problems) and bool(problems) == bool(says)


def test_a_copy_has_the_change_and_the_original_stays(tmp_path: Path):
    folder = tmp_path / "game"
    folder.mkdir()
    (folder / "game.ts").write_text("let size = 1;\n")
    game = corpus.CorpusGame("game", folder, "module", (replace(CHANGE, file="game.ts"),), ())
    entry = game.build(tmp_path / "copies" / "size", game.faults[0])
    assert entry.read_text() == "let size = 2;\n"
    assert (folder / "game.ts").read_text() == "let size = 1;\n"
    with pytest.raises(ValueError, match="0 times"):
        game.build(tmp_path / "copies" / "gone", replace(game.faults[0], edits=(("no", ""),)))


PLAYED = corpus.Played("g:size:0", "fault", ("changed",), 1, 20, 100, {"changed:return:lower": "Lower."})


@pytest.mark.parametrize(
    ("played", "is_right"),
    [
        (PLAYED, True),
        (replace(PLAYED, seconds=121), False),
        (replace(PLAYED, findings={"leak": "Grows."}), False),
        (replace(PLAYED, findings={}, code=0), False),
        (replace(PLAYED, kind="clean", findings={}, code=0), True),
        (replace(PLAYED, kind="clean"), False),
        (replace(PLAYED, kind="harmless", findings={}, code=2), False),
    ],
)
def test_a_fault_is_found_by_a_right_oracle_in_time_and_a_sound_build_plays(
    played: corpus.Played, is_right: bool
):
    assert played.is_right is is_right


def test_a_record_is_read_again_and_judged_by_what_is_right_now(tmp_path: Path):
    kept = replace(PLAYED, key="snake:throw:0", expected=("leak",), findings={"error": "Throws."})
    corpus.Record(tmp_path, GAMES).add(kept)
    [read] = corpus.Record(tmp_path, GAMES).played.values()
    assert not kept.is_right and read.is_right and read.found_by == ["error"]


def test_cases_are_chosen_by_name():
    assert [case.key for case in corpus.chosen(GAMES, ["snake:throw"])] == ["snake:throw:0"]
    assert len(corpus.chosen(GAMES, ["snake"])) == 34
    with pytest.raises(ValueError, match="no game or change is named 'snak'"):
        corpus.chosen(GAMES, ["snak"])


def test_the_table_counts_by_game_and_names_what_was_missed():
    found = replace(PLAYED, key="snake:throw:0", expected=("error",), findings={"error": "Throws."})
    missed = replace(PLAYED, key="snake:nan:0", findings={}, code=0)
    accused = replace(PLAYED, key="snake:clean:1", kind="clean")
    text = corpus.table(GAMES, {result.key: result for result in (found, missed, accused)})
    assert "| snake | module | 1 of 2 | 20 s | 1 of 1 | 0 of 0 |" in text
    assert "| snake | The third badge, for 24 apples, has no name. | `error` | 20 |" in text
    assert text.count("**missed**") == 1
