"""What messages of hosts and workers mean to the core, and what those are told in turn."""

import pytest

from attract.collection import effects, inputs, message_handlers
from attract.collection.fleet import Host
from attract.collection.message_handlers import (
    STAND_IN_SECONDS,
    choose_describer,
    describe_deadline,
    report_of,
)
from attract.collection.state import CollectionState
from attract.errors import ProtocolError
from attract.schema.messages import (
    Assignment,
    EvaluationResult,
    GameDescribed,
    GameFailed,
    GameLog,
    Goodbye,
    HostStatus,
    LeaseVoid,
    Seed,
)
from blocks import played_block
from driven_core import HOST, DrivenCore, game_failure, small_config
from fake_worker import SHA256, counting_description, host_hello

# --- what the game is ---


def test_the_first_host_describes_the_game_and_the_others_wait_for_it() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 1, host_hello("a" * 32, max_workers=2), "local")
    driven.give(message_handlers.connected, 2, host_hello("b" * 32, max_workers=3), "local")
    first, second = driven.messages(Assignment, 1), driven.messages(Assignment, 2)
    assert [(order.describe, order.num_workers) for order in first] == [(True, 2)]
    assert [(order.describe, order.num_workers) for order in second] == [(False, 0)]
    driven.do(driven.core.handle(message_handlers.disconnected, 0.1, 1))
    assert driven.messages(Assignment, 2)[-1].describe
    driven.host(2, "b" * 32, max_workers=3)
    assert driven.known_game == counting_description()
    assert driven.messages(Assignment, 2)[-1].num_workers == 3
    assert not driven.messages(Assignment, 2)[-1].describe


def test_a_game_that_cannot_be_loaded_is_fatal() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 1, host_hello(), "local")
    driven.give(message_handlers.message_received, 1, game_failure("load"))
    (broken,) = driven.wanted(effects.Report)
    assert broken.fatal
    assert (broken.report.text, broken.report.seed) == ("x is undefined", "0000000200000001")


def test_a_worker_that_hangs_loses_its_leases_at_once_and_the_fleet_goes_on() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.play(11)
    driven.give(message_handlers.message_received, HOST, game_failure("hang", 0))
    (broken,) = driven.wanted(effects.Report)
    assert not broken.fatal
    assert broken.report.worker_index == 0
    driven.play(11)
    assert len(driven.trains) == 1


def describes(driven: DrivenCore, connection_id: int) -> list[bool]:
    return [message.describe for message in driven.messages(Assignment, connection_id)]


def described_as(max_steps: int) -> GameDescribed:
    return GameDescribed(run_id="run-1", sha256=SHA256, description=counting_description(max_steps=max_steps))


def test_hostile_02_a_stranger_is_not_asked_what_the_game_is_and_not_believed() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 2, host_hello("b" * 32), "invited", "3f2a9c01@192.0.2.7")
    driven.give(message_handlers.message_received, 2, described_as(999))
    driven.give(message_handlers.message_received, 2, game_failure("load"))
    assert driven.known_game is None
    assert not any(report.fatal for report in driven.wanted(effects.Report))
    driven.wait(29.0)
    assert describes(driven, 2) == [False]
    driven.give(message_handlers.connected, 1, host_hello("a" * 32), "local")
    assert describes(driven, 1) == [True]
    driven.give(message_handlers.message_received, 2, described_as(999))
    driven.give(message_handlers.message_received, 1, described_as(7))
    assert driven.known_game is not None
    assert driven.known_game.max_steps == 7


def test_hostile_02_without_a_host_of_ones_own_strangers_stand_in_one_after_the_other() -> None:
    driven = DrivenCore()
    for connection_id in (2, 3):
        hello = host_hello(f"{connection_id}" * 32)
        driven.give(message_handlers.connected, connection_id, hello, "invited", f"3f2a9c01@{connection_id}")
    driven.wait(31.0)
    assert (describes(driven, 2), describes(driven, 3)) == ([False, True], [False])
    assert [note.kind for note in driven.wanted(effects.Note)] == ["strangers"]
    driven.give(message_handlers.message_received, 2, game_failure("load"))
    assert not any(report.fatal for report in driven.wanted(effects.Report))
    assert describes(driven, 3) == [False, True]
    driven.give(message_handlers.message_received, 2, described_as(999))
    assert driven.known_game is None, "it had its turn"
    driven.give(message_handlers.message_received, 3, described_as(7))
    assert driven.known_game is not None


def test_D2_a_game_that_is_known_is_asked_of_nobody_and_strangers_play_at_once() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 2, host_hello("b" * 32), "invited", "guest")
    driven.give(inputs.game_remembered, counting_description())
    driven.give(message_handlers.connected, 3, host_hello("c" * 32, max_workers=2), "invited", "other")
    assert (describes(driven, 2), describes(driven, 3)) == ([False, False], [False])
    assert [message.num_workers for message in driven.messages(Assignment, 3)] == [2]
    assert driven.wanted(effects.GameKnown) == [effects.GameKnown(counting_description())]
    driven.give(message_handlers.message_received, 2, described_as(999))
    driven.give(inputs.game_remembered, counting_description(max_steps=999))
    assert driven.known_game == counting_description()


def test_messages_of_the_wrong_role_are_refused() -> None:
    driven = DrivenCore.started()
    with pytest.raises(ProtocolError):
        driven.core.handle(message_handlers.message_received, 0.0, HOST, driven.workers[10].progress()[0])
    with pytest.raises(ProtocolError):
        driven.core.handle(
            message_handlers.message_received, 0.0, 10, HostStatus(run_id="run-1", num_workers=1)
        )
    with pytest.raises(ProtocolError):
        driven.core.offer_block(HOST, played_block(), 0.0)


def test_a_deadline_is_that_of_the_strangers_and_there_is_none_once_one_is_asked() -> None:
    state = CollectionState(small_config())
    assert describe_deadline(state) is None
    host, _ = state.fleet.connect_host(2, host_hello("b" * 32), "invited", "guest")
    choose_describer(state, 5.0)
    assert describe_deadline(state) == 5.0 + STAND_IN_SECONDS
    choose_describer(state, 34.9)
    assert state.describing is None
    choose_describer(state, 35.0)
    assert (state.describing, describe_deadline(state)) == (2, None)
    # It cannot load the game, and nobody else is there: nothing is left to wait for.
    state.describing = None
    state.failed_to_describe.add(host.identity)
    assert describe_deadline(state) is None


def test_a_host_of_ones_own_takes_the_place_of_a_stranger_that_was_asked() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 2, host_hello("b" * 32), "invited", "guest")
    driven.wait(STAND_IN_SECONDS + 1)
    assert describes(driven, 2) == [False, True]
    driven.give(message_handlers.connected, 1, host_hello("a" * 32), "local")
    assert describes(driven, 1)[-1]
    driven.give(message_handlers.message_received, 2, described_as(999))
    assert driven.known_game is None


def test_a_description_of_another_module_is_not_taken() -> None:
    driven = DrivenCore()
    driven.give(message_handlers.connected, 1, host_hello("a" * 32), "local")
    driven.give(
        message_handlers.message_received, 1, described_as(7).model_copy(update={"sha256": "cd" * 32})
    )
    assert driven.known_game is None


# --- what workers say ---


def test_a_line_of_the_game_goes_on_with_the_worker_that_wrote_it() -> None:
    driven = DrivenCore.started()
    driven.give(
        message_handlers.message_received,
        11,
        GameLog(run_id="run-1", level="warn", text="low fuel", dropped=2),
    )
    (logged,) = driven.wanted(effects.GameLogged)
    assert (logged.worker_id, logged.line.level, logged.line.text, logged.line.dropped) == (
        1,
        "warn",
        "low fuel",
        2,
    )


def test_C3_who_says_goodbye_has_no_lease_any_more() -> None:
    driven = DrivenCore.started()
    before = len(driven.leases(10))
    driven.give(message_handlers.message_received, 10, Goodbye())
    assert len(driven.messages(LeaseVoid, 10)) == before > 0
    assert {message.reason for message in driven.messages(LeaseVoid, 10)} == {"the page is going away"}
    assert len(driven.leases(10)) == before, "and it gets none"


def test_a_close_of_anothers_lease_closes_nothing() -> None:
    driven = DrivenCore.started()
    said = driven.workers[11].play()
    driven.give(message_handlers.message_received, 10, said[-1])
    assert not driven.wanted(effects.LeaseClosed)
    for message in said:
        driven.say(11, message)
    (closed,) = driven.wanted(effects.LeaseClosed)
    assert closed.close is said[-1]


def test_an_evaluation_has_a_return_for_each_agent_and_names_what_the_game_declares() -> None:
    driven = DrivenCore.started(schedule="sync")
    driven.give(inputs.pause)
    driven.play(10)
    driven.play(11)
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    connection, worker = next(
        (key, candidate) for key, candidate in driven.workers.items() if candidate.leases
    )
    (result,) = worker.play()
    assert isinstance(result, EvaluationResult)
    for change, says in (
        ({"returns": [1.0, 2.0]}, "evaluation_result.episodes: returns"),
        ({"metrics": {"gold": 1.0}}, "episodes.metrics: 'gold'"),
    ):
        wrong = [result.episodes[0].model_copy(update=change), *result.episodes[1:]]
        with pytest.raises(ProtocolError, match=says):
            driven.core.handle(
                message_handlers.message_received,
                driven.now,
                connection,
                result.model_copy(update={"episodes": wrong}),
            )
    assert not driven.wanted(effects.EvaluationDone)


def test_a_report_keeps_what_a_person_needs_to_see_it_again() -> None:
    message = GameFailed(
        run_id="run-1",
        kind="throw",
        name="RangeError",
        text="out of the board",
        stack="at update (snake.ts:12)",
        slot_id=7,
        instance_id=7,
        episode=3,
        tick=1000,
        seed=Seed(low=0xABCDEF01, high=0x23456789),
    )
    report = report_of(message, Host("a" * 32, 0), 2)
    assert (report.seed, report.slot_id, report.tick, report.worker_index) == ("23456789abcdef01", 7, 1000, 2)
    assert report.stack == "at update (snake.ts:12)"


@pytest.mark.parametrize(("tier", "is_lost"), [("local", True), ("invited", False)])
def test_only_a_host_of_ones_own_says_that_a_worker_is_lost(tier: str, is_lost: bool) -> None:
    driven = DrivenCore(small_config(num_workers=1), tier=tier)
    driven.host()
    driven.join(10)
    crashed = game_failure("crash", 0)
    driven.give(message_handlers.message_received, HOST, crashed)
    driven.give(message_handlers.message_received, HOST, crashed.model_copy(update={"worker_lost": True}))
    assert [broken.report.worker_lost for broken in driven.wanted(effects.Report)] == [False, is_lost]


@pytest.mark.parametrize(("tier", "is_over"), [("local", True), ("invited", False)])
def test_workers_that_end_before_they_connect_end_the_run_as_others_do(tier: str, is_over: bool) -> None:
    driven = DrivenCore(small_config(num_workers=1), tier=tier)
    driven.host()
    driven.join(10)
    for _ in range(3):
        driven.give(message_handlers.message_received, HOST, game_failure("crash", 0))
    assert driven.wanted(effects.Report)[-1].fatal is is_over
