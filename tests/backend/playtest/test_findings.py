import pytest

from attract.games.library import GameModule
from attract.games.page_listing import PageListing
from attract.games.places import Place
from attract.playtest.causes import Cause, Sighting
from attract.playtest.findings import Build, finding_of, oracle_states, players_of
from attract.playtest.outcomes import Outcome, Outcomes
from attract.playtest.plan import Confirmed, Played
from attract.schema.playtest import PlaytestAlarm
from fake_worker import counting_game
from recorded_episodes import recorded
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
