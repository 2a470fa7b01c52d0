"""From outcomes to findings: causes, comparison with a baseline, and baselines as files."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy

from attract.errors import FileError
from attract.games.kept_game import PageListing
from attract.games.library import GameModule
from attract.games.places import Place
from attract.playtest.baseline import MAX_BYTES, read_baseline, write_baseline
from attract.playtest.causes import Cause, Causes, Sighting, place_in, plain_text
from attract.playtest.comparison import FALSE_ALARM, beyond, compare, least_p_value, threshold
from attract.playtest.findings import Build, finding_of, oracle_states, players_of
from attract.playtest.outcomes import Outcome, Outcomes, rounded
from attract.playtest.plan import Confirmed, Played
from attract.schema.playtest import PlaytestAlarm, PlaytestEpisode, PlaytestPlays
from fake_worker import counting_game
from recorded_episodes import baseline, outcomes, recorded
from socket_fleet import DESCRIPTION

MODULE = GameModule(counting_game(), b"", None)
BUILD = Build(MODULE, DESCRIPTION)


def test_a_finding_has_its_place_its_moment_and_the_build_in_its_episode() -> None:
    alarm = PlaytestAlarm(oracle="error", text="gone", step=4)
    cause = Cause("error", "error gone", "at f", Place("src/a.ts", 3, 9), [Sighting(alarm, "idle", None)])
    confirmed = Confirmed("error", "gone", cause, "idle", alarm, recorded(), 2)
    finding = finding_of(confirmed, BUILD)
    assert (finding.file, finding.line, finding.column, finding.stack) == ("src/a.ts", 3, 9, "at f")
    assert (finding.step, finding.confirmed, finding.player) == (4, 2, "idle")
    assert finding.seconds == pytest.approx(4 * DESCRIPTION.seconds_per_step)
    assert finding.episode is not None
    assert finding.episode.game_sha256 == MODULE.reference.sha256
    assert finding.episode.description_sha256 is not None


def test_what_is_measured_over_many_episodes_happens_in_no_step() -> None:
    alarm = PlaytestAlarm(oracle="leak", text="8 kB an episode", step=0)
    finding = finding_of(Confirmed("leak", "8 kB", None, None, alarm, None, 0), BUILD)
    assert (finding.step, finding.seconds, finding.episode) == (None, None, None)


def test_the_files_of_a_page_name_its_build() -> None:
    assert BUILD.sha256 == MODULE.reference.sha256
    listing = PageListing(sha256="c" * 64, page="index.html", files={})
    assert Build(MODULE, DESCRIPTION, listing).sha256 == "c" * 64


def test_oracles_are_judged_as_far_as_there_is_what_they_need() -> None:
    played = Played(problems={"leak": "no time was left"}, drilled={"soft-lock", "slow", "retry-broken"})
    states = {state.oracle: state for state in oracle_states(played, [], False, has_policy=False)}
    assert states["error"].state == "passed"
    assert states["soft-lock"].state == "passed"
    assert (states["leak"].state, states["leak"].note) == ("not_judged", "no time was left")
    assert "baseline" in states["changed"].note
    assert "policy" in states["won-without-input"].note
    alarm = PlaytestAlarm(oracle="error", text="gone", step=0)
    finding = finding_of(Confirmed("error", "gone", None, None, alarm, None, 0), BUILD)
    states = {state.oracle: state for state in oracle_states(played, [finding], True, has_policy=True)}
    assert (states["error"].state, states["changed"].state) == ("found", "passed")


def test_players_are_summed_up_without_failed_episodes() -> None:
    outcomes = Outcomes()
    outcomes.players["idle"] = {
        0: Outcome("terminated", {"return": 1.0, "length": 10.0}),
        1: Outcome("time_limit", {"return": 3.0, "length": 20.0}),
        2: Outcome("failed", {"return": 99.0, "length": 1.0}),
    }
    (row,) = players_of(outcomes)
    assert (row.episodes, row.return_mean, row.length_mean) == (3, 2.0, 15.0)
    assert row.ended == {"terminated": 1, "time_limit": 1, "failed": 1}


def sighting(text: str, *, step: int = 3, stack: str | None = None, has_episode: bool = True) -> Sighting:
    alarm = PlaytestAlarm(oracle="error", text=text, step=step, stack=stack)
    return Sighting(alarm, "random", recorded() if has_episode else None)


def by_stack(stack: str | None, method: object) -> tuple[str | None, Place | None]:
    return stack, None if stack is None else Place("src/game.ts", int(stack), 1)


def causes_of(*sightings: Sighting) -> Causes:
    causes = Causes(by_stack)
    for seen in sightings:
        causes.add(seen)
    return causes


def test_alarms_of_one_place_are_one_cause_whatever_they_say() -> None:
    causes = causes_of(
        sighting("a is undefined", stack="7"),
        sighting("b is undefined", stack="7"),
        sighting("c is undefined", stack="8"),
    )
    assert [len(cause.sightings) for cause in causes.all.values()] == [2, 1]


def test_alarms_without_a_place_are_one_cause_by_their_text_without_numbers() -> None:
    causes = causes_of(sighting("cell 3 is -1.5e+3"), sighting("cell 12 is 4"), sighting("row 3 is 4"))
    assert [len(cause.sightings) for cause in causes.all.values()] == [2, 1]


def test_the_shortest_sighting_has_an_episode() -> None:
    causes = causes_of(sighting("x", step=1, has_episode=False), sighting("x", step=9), sighting("x", step=5))
    (cause,) = causes.all.values()
    assert cause.shortest.alarm.step == 5
    assert [kept.alarm.step for kept in cause.replayable] == [5, 9]
    assert cause.playable == []
    cause = causes.add(replace(sighting("x", step=7), index=3))
    assert [played.index for played in cause.playable] == [3]


def test_what_was_seen_first_in_its_page_is_shown_before_what_is_shorter() -> None:
    used = replace(sighting("x", step=2), is_fresh=False)
    (cause,) = causes_of(used, sighting("x", step=9), sighting("x", step=1, has_episode=False)).all.values()
    assert cause.shortest.alarm.step == 9


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Error: gone (js/game.js:4:24)\nmore", Place("js/game.js", 4, 24)),
        ("Error: gone (4:24)", None),
        ("Error: gone", None),
    ],
)
def test_an_error_of_a_page_ends_with_its_place(text: str, place: Place | None) -> None:
    assert place_in(text) == place


def test_addresses_and_numbers_are_no_part_of_a_plain_text() -> None:
    assert plain_text("at (http://g1.localhost:8000/a.js:3:4) of -3.5\nsecond line") == "at  of #"
    assert plain_text("") == ""


def episode(index: int, end: str = "terminated", **info: float) -> PlaytestEpisode:
    return PlaytestEpisode.model_validate(
        {
            "play": 1, "index": index, "episode_return": 1 / 3, "num_steps": 7, "num_ticks": 28,
            "end_reason": end, "info": info, "play_seconds": 0.1,
        }
    )  # fmt: skip


def test_an_outcome_has_the_common_numbers_and_those_of_the_game() -> None:
    outcome = Outcome.of(episode(0, level=2.0))
    assert outcome.numbers == {"return": 0.333333, "length": 7.0, "ended": 1.0, "info level": 2.0}
    assert Outcome.of(episode(0, "time_limit")).numbers["ended"] == 0.0


def test_outcomes_are_by_player_and_index_and_failed_ones_have_no_values() -> None:
    outcomes = Outcomes()
    plays = [PlaytestPlays(player="idle", first=0, count=1), PlaytestPlays(player="random", first=3, count=2)]
    outcomes.take_in(plays, [episode(3), episode(4, "failed"), episode(5, level=1.0)])
    assert outcomes.num_episodes == 3
    assert outcomes.values("random", "length") == {3: 7.0, 5: 7.0}
    assert outcomes.values("random", "info level") == {5: 1.0}
    assert outcomes.values("idle", "length") == {}
    assert outcomes.names() == ["return", "length", "ended", "info level"]


def test_six_digits_are_compared() -> None:
    assert (rounded(1234567.0), rounded(0.1 + 0.2)) == (1234570.0, 0.3)


def test_episodes_are_left_out_by_player_and_index() -> None:
    one = Outcome("terminated", {"return": 1.0})
    outcomes = Outcomes({"idle": {0: one, 1: one}, "random": {1: one}})
    assert outcomes.without({("idle", 1), ("random", 0)}).players == {"idle": {0: one}, "random": {1: one}}


def numbered(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_all_tests_share_one_chance_of_a_false_alarm() -> None:
    assert FALSE_ALARM == 0.01
    assert threshold([1e-9] * 40) == pytest.approx(0.01 / 40)


def test_tests_that_could_reach_no_limit_do_not_lower_it() -> None:
    # 0.01 / 2 = 0.005: two tests can come below it; the third only below 0.01.
    assert threshold([1e-9, 0.004, 0.006, 0.5, 1.0]) == pytest.approx(0.005)
    assert threshold([1.0] * 100) == 0.01
    assert threshold([]) == 0.01


def test_the_least_p_value_has_all_pairs_that_differ_on_one_side() -> None:
    assert least_p_value({0: 1.0, 1: 1.0, 2: 1.0, 3: 5.0}, {0: 2.0, 1: 0.0, 2: 1.0, 4: 1.0}) == 0.5
    assert least_p_value({}, {}) == 1.0


def test_a_change_names_means_direction_and_the_pair_that_differs_most() -> None:
    before = [float(10 + i % 3) for i in range(32)]
    now = [value - 2.0 - 0.01 * i for i, value in enumerate(before)]
    change = compare("random", "return", numbered(before), numbered(now), 1e-4)
    assert change is not None
    assert (change.direction, change.pairs, change.largest) == ("lower", 32, 31)
    assert change.before == pytest.approx(sum(before) / 32)
    assert change.now == pytest.approx(sum(now) / 32)
    assert change.p_value == pytest.approx(2.0**-31)  # All 32 ranks on one side.


def test_p_values_are_those_of_the_signed_ranks_without_the_equal_pairs() -> None:
    rng = np.random.default_rng(3)
    before = rng.normal(10, 1, 60)
    now = before + rng.normal(1.0, 0.5, 60)
    now[:20] = before[:20]
    change = compare("random", "return", numbered(list(before)), numbered(list(now)), 1e-4)
    assert change is not None
    assert change.p_value == pytest.approx(float(scipy.stats.wilcoxon((now - before)[20:])[1]))


def test_equal_outcomes_are_no_change() -> None:
    values = numbered([1.0, 2.0, 3.0] * 20)
    assert compare("random", "return", values, values, 0.01) is None


def test_a_certain_change_of_less_than_three_percent_does_not_matter() -> None:
    before = [100.0] * 64
    assert compare("idle", "length", numbered(before), numbered([102.9] * 64), 0.01) is None
    assert compare("idle", "length", numbered(before), numbered([103.1] * 64), 0.01) is not None


def test_too_few_pairs_are_no_change_however_they_differ() -> None:
    assert compare("idle", "length", numbered([1.0] * 10), numbered([9.0] * 10), 1e-3) is None


def test_only_equal_seeds_are_compared() -> None:
    before = dict.fromkeys(range(100), 1.0)
    now = dict.fromkeys(range(100, 200), 9.0)
    assert compare("idle", "length", before, now, 0.01) is None


def test_unchanged_games_with_other_dice_raise_no_alarm() -> None:
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        before, now = rng.exponential(5, 64), rng.exponential(5, 64)
        alarms += compare("random", "return", numbered(list(before)), numbered(list(now)), 0.002) is not None
    # 0.002 each: 0.8 are expected.
    assert alarms <= 4


def test_a_value_that_many_reached_and_none_does_any_more() -> None:
    value, chance = beyond([0.0] * 30 + [2.0] * 30, [0.0, 1.0] * 30)
    assert value == 2.0
    # All 30 highest of 120 are among the 60 of before.
    assert chance == pytest.approx(math.comb(60, 30) / math.comb(120, 30))


@pytest.mark.parametrize(
    ("before", "now", "value", "chance"),
    [
        ([0.0] * 60, [0.0] * 60, None, 1.0),
        # One of sixty reached it: too few to say so, and as likely as not.
        ([0.0] * 59 + [2.0], [0.0] * 60, None, 0.5),
        ([0.0] * 30 + [2.0] * 30, [0.0] * 59 + [2.0], None, 1.0),
        ([0.0] * 2 + [2.0] * 2, [0.0] * 4, 2.0, 6 / 28),
        ([], [1.0], None, 1.0),
    ],
)
def test_what_chance_explains_has_a_high_chance(
    before: list[float], now: list[float], value: float | None, chance: float
) -> None:
    assert beyond(before, now) == (value, pytest.approx(chance))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "attract-ci.json"
    assert write_baseline(path, baseline(), outcomes(20), 256) == 256
    read = read_baseline(path)
    assert read.model_copy(update={"players": {}, "measured": {}}) == baseline().model_copy(
        update={"measured": {}}
    )
    assert read.measured == {"dead-key/action 1": 0.551235}
    again = read.outcomes()
    assert again.players["idle"][3].end_reason == "terminated"
    assert again.players["random"][4].numbers["return"] == pytest.approx(4 / 3, rel=1e-5)
    assert list(again.players["idle"]) == list(range(20))


def test_a_gap_ends_what_is_kept_of_a_player(tmp_path: Path) -> None:
    played = outcomes(10)
    del played.players["idle"][4]
    write_baseline(tmp_path / "b.json", baseline(), played, 256)
    again = read_baseline(tmp_path / "b.json").outcomes()
    assert (len(again.players["idle"]), len(again.players["random"])) == (4, 10)


def test_as_many_episodes_are_kept_as_fit(tmp_path: Path) -> None:
    path = tmp_path / "attract-ci.json"
    kept = write_baseline(path, baseline(), outcomes(256, num_info=120), 256)
    assert kept < 256
    # Twice as many do not fit.
    assert write_baseline(tmp_path / "other.json", baseline(), outcomes(256, num_info=120), 2 * kept) == kept
    assert path.stat().st_size <= MAX_BYTES
    assert len(read_baseline(path).outcomes().players["idle"]) == kept


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"attract-ci-baseline"', '"other"', "format"),
        ('"ends": "s', '"ends": "st', "not of one length"),
        ('"length": "0 ', '"length": "none ', "could not convert"),
        ("{", "[", "JSON"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path = tmp_path / "attract-ci.json"
    write_baseline(path, baseline(), outcomes(4), 256)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(FileError, match=problem):
        read_baseline(path)
