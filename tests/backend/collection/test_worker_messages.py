from attract.collection import inputs
from attract.schema.messages import LeaseVoid, ParameterDistribution, Seed, WelcomeWorker
from driven_core import DrivenCore, small_config
from fake_worker import counting_description


def test_C5_training_leases_carry_the_run_seed_and_evaluations_their_own() -> None:
    driven = DrivenCore.started(desync_episodes=True)
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    driven.play(10)
    driven.play(11)
    by_purpose = {lease.purpose: lease for lease in driven.leases()}
    train, evaluate = by_purpose["train"], by_purpose["evaluate"]
    assert (train.seed, train.desync_steps, train.max_episode_steps) == (Seed(low=1, high=2), 7, None)
    assert (evaluate.seed, evaluate.desync_steps, evaluate.max_episode_steps) == (Seed(low=5, high=6), 0, 7)
    assert (train.seats[0].learns, evaluate.seats[0].learns) == (True, False)


def test_a_lease_has_a_seat_for_every_agent() -> None:
    driven = DrivenCore(small_config(), counting_description(num_agents=3))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    assert len(driven.leases()[0].seats) == 3
    driven.play(10)
    assert driven.acks[-1].accepted


def test_an_endless_game_is_stopped_in_evaluation() -> None:
    driven = DrivenCore(small_config(), counting_description(max_steps=None))
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready()
    driven.give(inputs.pause)
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    driven.play(10, 2)
    driven.play(11, 2)
    assert (
        next(lease for lease in driven.leases() if lease.purpose == "evaluate").max_episode_steps == 100_000
    )


def test_the_welcome_says_what_a_worker_must_know() -> None:
    driven = DrivenCore.started()
    welcome = driven.messages(WelcomeWorker, 11)[0]
    assert (welcome.worker_id, welcome.instance_ids, welcome.horizon) == (1, [3, 4, 5], 4)
    assert (welcome.seed, welcome.max_frame_bytes) == (Seed(low=1, high=2), 1024 * 1024)


def test_a_worker_behind_a_network_sends_smaller_frames() -> None:
    driven = DrivenCore(tier="invited")
    driven.host()
    for index in range(2):
        driven.join(10 + index, index)
    driven.ready()
    assert driven.messages(WelcomeWorker, 11)[0].max_frame_bytes == 256 * 1024


def test_C6_a_lesson_travels_with_every_later_lease_for_training_and_no_other() -> None:
    driven = DrivenCore.started(schedule="sync")
    size = {"size": ParameterDistribution(kind="uniform", values=[6.0, 8.0])}
    driven.give(inputs.set_lesson, "small", size)
    assert len(driven.leases()) == 2, "leases that are out are left alone"
    assert [(lease.lesson_id, lease.parameters) for lease in driven.leases()] == [(None, {})] * 2
    driven.give(inputs.request_evaluation, 2, True, Seed(low=5, high=6))
    for connection_id in (10, 11, 10, 11):
        driven.play(connection_id)
    driven.publish()
    by_purpose = {lease.purpose: lease for lease in driven.leases()[2:]}
    assert (by_purpose["train"].lesson_id, by_purpose["train"].parameters) == ("small", size)
    assert (by_purpose["evaluate"].lesson_id, by_purpose["evaluate"].parameters) == (None, {})
    again = driven.leases(10)[-1]
    driven.give(inputs.set_lesson, "large", {})
    driven.rejoin(20, driven.close(10))
    assert driven.leases(20) == [again], "a lease that is said again is the same lease"
    assert not driven.messages(LeaseVoid)


def test_P7_the_warm_up_is_played_in_the_lesson_too() -> None:
    driven = DrivenCore(small_config(warmup_steps=8))
    driven.give(inputs.set_lesson, "small", {})
    driven.host()
    driven.join(10, 0)
    driven.join(11, 1)
    driven.ready(needs_warmup=True)
    assert [(lease.purpose, lease.lesson_id) for lease in driven.leases()] == [("warmup", "small")] * 2


def test_S3_the_welcome_says_how_large_the_state_is() -> None:
    assert DrivenCore.started(state_size=256).messages(WelcomeWorker, 10)[0].state_size == 256
    assert DrivenCore.started().messages(WelcomeWorker, 10)[0].state_size == 0
