"""Episodes that workers send to be kept: who is asked, what is taken, what is a lie."""

from dataclasses import replace

import pytest

from attract.collection import effects, evaluation, inputs, message_handlers
from attract.collection.leases import Recordings
from attract.errors import ProtocolError
from attract.schema.messages import EpisodeRecorded, Lease, Recording, Seat, Seed
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import RecordingSettings
from driven_core import DrivenCore, game_failure, small_config
from recorded_episodes import recorded

FIRST, SECOND = 10, 11


def open_evaluation(
    record: Recording = "extremes", episodes: int = 4, seats: tuple[Seat, ...] = ()
) -> tuple[DrivenCore, list[Lease]]:
    """As `evaluating`, before anybody has played; the lease of each worker."""
    driven = DrivenCore.started(schedule="sync")
    driven.give(inputs.request_evaluation, episodes, True, Seed(low=3, high=0), record=record, seats=seats)
    for connection_id in (FIRST, SECOND):
        while driven.workers[connection_id].leases[0].purpose != "evaluate":
            driven.play(connection_id)
    return driven, [driven.workers[number].leases[0] for number in (FIRST, SECOND)]


def send(driven: DrivenCore, connection_id: int, lease: Lease, episode: RecordedEpisode) -> None:
    message = EpisodeRecorded(run_id="run-1", lease_id=lease.lease_id, episode=episode)
    driven.give(message_handlers.message_received, connection_id, message)


def training(driven: DrivenCore) -> list[effects.EpisodesRecorded]:
    return driven.wanted(effects.EpisodesRecorded)


def started(recording: RecordingSettings, tier: str = "local") -> DrivenCore:
    """Two workers of a run with these settings; leases are out."""
    config = small_config(schedule="sync")
    config = replace(config, run=config.run.model_copy(update={"recording": recording}))
    driven = DrivenCore(config, tier=tier)
    driven.host(max_workers=2)
    driven.join(FIRST, 0)
    driven.join(SECOND, 1)
    driven.ready()
    return driven


def test_a_version_that_no_lease_has_leaves_no_gap():
    recordings = Recordings()
    asked = [recordings.ask(version, 4) for version in (0, 0, 1, 5, 5, 6, 8)]
    assert asked == [True, True, False, True, True, False, True]
    recordings.done = 8
    assert not recordings.ask(8, 4)


def trained_leases(**changes: int) -> list[Recording]:
    """What the training leases of versions 0 to 3 ask for."""
    driven = started(RecordingSettings(every_updates=2, **changes))
    for _ in range(4):
        for connection_id in (FIRST, SECOND):
            driven.play(connection_id, 11)
        driven.publish()
    asked = {lease.seats[0].policy_version: lease.record for lease in driven.leases() if lease.num_segments}
    return [asked[version] for version in range(4)]


def test_every_nth_version_is_asked_for_its_training_episodes():
    assert trained_leases() == ["extremes", "none", "extremes", "none"]


@pytest.mark.parametrize("off", [{"max_bytes": 0}, {"max_episodes": 0}])
def test_where_nothing_is_kept_nobody_is_asked(off: dict[str, int]):
    assert set(trained_leases(**off)) == {"none"}


def test_guests_are_not_asked():
    driven = started(RecordingSettings(every_updates=1), tier="invited")
    driven.give(inputs.request_evaluation, 4, True, Seed(low=3, high=0), record="all")
    driven.play(FIRST, 20)
    driven.play(SECOND, 20)
    purposes = {lease.purpose for lease in driven.leases()}
    assert {"train", "evaluate"} <= purposes
    assert {lease.record for lease in driven.leases()} == {"none"}


def test_the_episodes_of_all_workers_come_with_the_evaluation():
    driven, leases = open_evaluation()
    for number, (connection_id, lease) in enumerate(zip((FIRST, SECOND), leases, strict=True)):
        assert (lease.record, len(lease.episodes)) == ("extremes", 2)
        for value in (10.0, 20.0, 30.0):
            send(driven, connection_id, lease, recorded(value + number))
    assert driven.wanted(effects.EvaluationDone) == []
    driven.play(FIRST)
    driven.play(SECOND)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert [episode.mean_return for episode in done.recorded] == [10.0, 20.0, 30.0, 11.0, 21.0, 31.0]


def test_an_evaluation_that_keeps_nothing_asks_for_nothing():
    _, leases = open_evaluation("none")
    assert {lease.record for lease in leases} == {"none"}


def test_all_episodes_are_as_many_as_the_lease_has():
    driven, leases = open_evaluation("all")
    for value in (1.0, 2.0):
        send(driven, FIRST, leases[0], recorded(value))
    with pytest.raises(ProtocolError, match="asked for 2 episodes"):
        send(driven, FIRST, leases[0], recorded(3.0))


def test_what_a_lapsed_lease_sent_does_not_count():
    driven, leases = open_evaluation()
    send(driven, FIRST, leases[0], recorded(99.0))
    driven.close(FIRST)
    driven.wait(3.0)
    driven.play(SECOND, 20)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert done.recorded == ()


def test_an_episode_of_a_lease_that_lapsed_meanwhile_is_no_lie():
    driven, leases = open_evaluation()
    driven.play(FIRST)
    send(driven, FIRST, leases[0], recorded(1.0))
    assert driven.wanted(effects.EvaluationDone) == []


def test_more_bytes_than_an_evaluation_may_hold_are_dropped(monkeypatch: pytest.MonkeyPatch):
    one = recorded(1.0)
    monkeypatch.setattr(evaluation, "MAX_RECORDED_BYTES", len(one.actions.data) + len(one.marks.hashes))
    driven, leases = open_evaluation()
    for connection_id, lease in zip((FIRST, SECOND), leases, strict=True):
        send(driven, connection_id, lease, one)
    driven.play(FIRST)
    driven.play(SECOND)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert len(done.recorded) == 1


@pytest.mark.parametrize(
    ("episode", "what"),
    [
        (recorded(game_id="CartPole-v1"), "of the game CartPole-v1"),
        (recorded([1.0, 2.0]), "seats: 2"),
        (recorded(num_steps=6), "actions.shape: 7 steps of actions, `num_steps` says 6"),
        (recorded([1.0, 1.0], seats=[{"player": "random"}]), "actions of 2 agents, `seats` has 1"),
        (recorded(end_reason="failed"), "error: `end_reason` is failed"),
        (
            recorded(actions={"dtype": "uint8", "shape": [7, 1], "deflated": True, "data": "AAAA"}),
            "actions.data",
        ),
        (
            recorded(
                num_steps=1 << 20,
                actions={"dtype": "float32", "shape": [1 << 20, 1], "deflated": True, "data": "AAAA"},
                marks={"interval": 1 << 20, "hashes": ""},
            ),
            "the limit is 1,048,576",
        ),
        (recorded(version=1), "seats: version 1, the lease is of 0"),
    ],
)
def test_what_is_no_episode_of_this_game_is_refused_by_name(episode: RecordedEpisode, what: str):
    driven, leases = open_evaluation()
    with pytest.raises(ProtocolError, match=what) as refused:
        send(driven, FIRST, leases[0], episode)
    assert refused.value.code == "malformed"
    driven.play(FIRST)
    driven.play(SECOND)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert done.recorded == ()


def test_of_a_match_the_versions_that_its_seats_name_may_play():
    seats = (Seat(policy_id="other.main", policy_version=7, learns=False),)
    driven, leases = open_evaluation(seats=seats)
    send(driven, FIRST, leases[0], recorded(version=7))
    with pytest.raises(ProtocolError, match="seats: version 8, the lease is of 7"):
        send(driven, FIRST, leases[0], recorded(version=8))


def test_who_was_not_asked_or_sends_too_many_is_refused():
    driven, leases = open_evaluation("none")
    with pytest.raises(ProtocolError, match="asked for 0 episodes"):
        send(driven, FIRST, leases[0], recorded())
    driven, leases = open_evaluation()
    for value in (1.0, 2.0, 3.0):
        send(driven, FIRST, leases[0], recorded(value))
    with pytest.raises(ProtocolError, match="asked for 3 episodes"):
        send(driven, FIRST, leases[0], recorded(4.0))


def test_an_episode_of_another_workers_lease_is_not_taken():
    driven, leases = open_evaluation()
    send(driven, SECOND, leases[0], recorded(99.0))
    driven.play(FIRST)
    driven.play(SECOND)
    (done,) = driven.wanted(effects.EvaluationDone)
    assert done.recorded == ()


def test_a_host_has_no_episodes_to_send():
    driven, leases = open_evaluation()
    with pytest.raises(ProtocolError, match="not for a host to say"):
        send(driven, 1, leases[0], recorded())


def test_training_episodes_are_handed_on_with_the_last_lease_of_their_version():
    driven = DrivenCore.started(schedule="sync", rollout_segments=2)
    leases = [driven.workers[number].leases[0] for number in (FIRST, SECOND)]
    assert {lease.record for lease in leases} == {"extremes"}
    send(driven, FIRST, leases[0], recorded(1.0))
    send(driven, SECOND, leases[1], recorded(2.0))
    driven.play(FIRST, 2)
    assert training(driven) == []
    driven.play(SECOND, 2)
    (handed,) = training(driven)
    assert (handed.policy_version, [episode.mean_return for episode in handed.episodes]) == (0, [1.0, 2.0])


def test_training_episodes_that_wait_are_handed_on_with_the_next_version():
    driven = started(RecordingSettings(every_updates=1))
    for connection_id in (FIRST, SECOND):
        send(driven, connection_id, driven.workers[connection_id].leases[0], recorded(float(connection_id)))
        driven.play(connection_id, 20)
    driven.publish()
    for connection_id in (FIRST, SECOND):
        send(driven, connection_id, driven.workers[connection_id].leases[0], recorded(0.0, version=1))
        driven.play(connection_id, 20)
    assert [(effect.policy_version, len(effect.episodes)) for effect in training(driven)] == [(0, 2), (1, 2)]


# --- failures ---


def test_the_episode_that_failed_comes_with_its_report():
    driven = DrivenCore.started()
    failed = recorded(error="x is undefined")
    driven.give(
        message_handlers.message_received,
        FIRST,
        game_failure("throw", 0).model_copy(update={"recorded": failed}),
    )
    (broken,) = driven.wanted(effects.Report)
    assert broken.recorded == failed


def test_the_episode_of_a_guests_failure_is_dropped_whatever_it_is():
    driven = DrivenCore(small_config(), tier="invited")
    driven.host(max_workers=2)
    driven.join(FIRST, 0)
    failed = recorded(error="x is undefined", game_id="Another-v1")
    driven.give(
        message_handlers.message_received,
        FIRST,
        game_failure("throw", 0).model_copy(update={"recorded": failed}),
    )
    (broken,) = driven.wanted(effects.Report)
    assert broken.recorded is None and broken.report.text == "x is undefined"


@pytest.mark.parametrize(
    ("episode", "what"),
    [
        (recorded(error="x", game_id="Another-v1"), "game_failed.recorded: of the game Another-v1"),
        (recorded(), "it did not fail"),
        (recorded(error="x", num_steps=3), "actions.shape"),
    ],
)
def test_what_is_no_failed_episode_of_this_game_is_refused(episode: RecordedEpisode, what: str):
    driven = DrivenCore.started()
    message = game_failure("throw", 0).model_copy(update={"recorded": episode})
    for connection_id in (FIRST, 1):
        with pytest.raises(ProtocolError, match=what):
            driven.give(message_handlers.message_received, connection_id, message)
