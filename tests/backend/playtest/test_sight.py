"""What looks wrong is looked at once more, twice; the host plays by a table."""

from tests.backend.playtest.scripted_host import RECORDED, ScriptedHost, run

from attract.playtest.findings import oracle_states
from attract.playtest.outcomes import LENGTH, Outcome, Outcomes
from attract.playtest.plan import Played
from attract.playtest.rules import Rule, Rules
from attract.playtest.sight import SIGHT_SHARE, SIGHTS, telling_episodes
from attract.schema.playtest import GamePlaytested, PlaytestAlarm, PlaytestDrilled, PlaytestGame

BLANK = PlaytestAlarm(oracle="blank", text="one colour for 90 ticks", step=7, tick=70)
LATER = BLANK.model_copy(update={"text": "one colour for 180 ticks", "step": 20, "tick": 200})
OUTSIDE = PlaytestAlarm(oracle="outside", text='the text "Score" is cut off', step=3, tick=30)


def looked(*alarms: PlaytestAlarm) -> PlaytestDrilled:
    """Each in an episode of its own."""
    recorded = [RECORDED.model_copy(update={"instance": place}) for place, _ in enumerate(alarms)]
    return PlaytestDrilled(kind="sight", alarms=list(alarms), recorded=list(recorded))


class LookingHost(ScriptedHost):
    """Answers each look by the next of a list."""

    def __init__(self, *looks: PlaytestDrilled | None) -> None:
        super().__init__()
        self.looks = list(looks)

    async def __call__(self, order: PlaytestGame, /) -> GamePlaytested:
        answer = await super().__call__(order)
        if not self.is_look(order):
            return answer
        drilled = self.looks.pop(0)
        problem = "the game did not come back" if drilled is None else None
        return answer.model_copy(update={"drilled": [] if drilled is None else [drilled], "problem": problem})

    @staticmethod
    def is_look(order: PlaytestGame) -> bool:
        return any(drill.kind == "sight" for drill in order.drills)

    @property
    def asked(self) -> list[PlaytestGame]:
        return [order for order in self.orders if self.is_look(order)]


def states_of(played: Played) -> dict[str, tuple[str, str]]:
    states = oracle_states(played, [], has_baseline=False, has_policy=False)
    return {each.oracle: (each.state, each.note) for each in states if each.oracle in SIGHTS}


def test_what_is_seen_in_three_looks_is_one_finding_where_it_was_played_first() -> None:
    host = LookingHost(looked(BLANK, LATER), looked(BLANK), looked(LATER))
    played = run(host, has_page=True, seconds=50.0)
    (found,) = played.findings
    assert (found.id, found.text, found.times) == ("blank", BLANK.text, 2)
    assert found.alarm is not None and found.alarm.tick == 70
    assert found.episode is not None and found.episode.instance == 0
    first, *again = host.asked
    # 0.24 of 50 s, 0.6 of that for the first look.
    assert first.budget_seconds == 0.6 * SIGHT_SHARE * 50
    assert first.drills[0].last_step is None
    assert [(len(order.drills[0].episodes), order.drills[0].last_step) for order in again] == [(1, 7)] * 2
    assert states_of(played)["outside"] == ("passed", "")


def test_what_is_seen_once_is_no_finding_and_the_others_are() -> None:
    host = LookingHost(
        looked(BLANK, OUTSIDE), looked(BLANK), looked(), looked(OUTSIDE), looked(BLANK, OUTSIDE)
    )
    played = run(host, has_page=True)
    assert [found.id for found in played.findings] == ["outside"]
    assert states_of(played)["blank"] == ("passed", f"seen once and not again when replayed: {BLANK.text}")


def test_a_look_that_is_not_finished_judges_nothing() -> None:
    played = run(LookingHost(None), has_page=True)
    said = ("not_judged", "could not be judged: the game did not come back")
    assert states_of(played) == dict.fromkeys(SIGHTS, said)
    late = PlaytestDrilled(kind="sight", problem="no time was left: 3 frames were drawn")
    played = run(LookingHost(late), has_page=True)
    assert states_of(played)["jump"] == ("not_judged", "no time was left: 3 frames were drawn")


def test_a_project_says_which_sights_are_judged() -> None:
    host = LookingHost(looked(BLANK, OUTSIDE), looked(OUTSIDE), looked(OUTSIDE))
    played = run(host, has_page=True, rules=Rules({"blank": Rule.model_validate("off")}))
    assert [found.id for found in played.findings] == ["outside"]
    none = LookingHost()
    run(none, has_page=True, rules=Rules({name: Rule.model_validate("off") for name in SIGHTS}))
    assert none.asked == []


def test_a_module_is_not_looked_at() -> None:
    host = LookingHost()
    played = run(host)
    assert host.asked == []
    assert states_of(played)["flicker"] == ("not_judged", "only a game in a page is looked at")


def test_the_longest_episode_is_looked_at_first_then_each_kind_of_player() -> None:
    def outcome(steps: float) -> Outcome:
        return Outcome("terminated", {LENGTH: steps})

    players = ("novelty", "hold-0", "idle", "main:greedy", "recorded-0")
    outcomes = Outcomes({player: {0: outcome(5), 1: outcome(6)} for player in players})
    outcomes.players["hold-0"][1] = outcome(9)
    outcomes.players["recorded-0"][0] = outcome(99)
    assert telling_episodes(outcomes, {("novelty", 0)}) == [
        ("hold-0", 1),
        ("idle", 0),
        ("main:greedy", 0),
        ("hold-0", 0),
    ]
