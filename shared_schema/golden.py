"""One message of every kind, in both directions: what the golden frames hold."""

import math

import numpy as np

from attract.schema import PROTOCOL_VERSION
from attract.schema import messages as m
from attract.schema.base import WireModel
from attract.schema.episodes import columns_of
from attract.schema.game import GameDescription, GameReference, ParameterRange, RewardRange
from attract.schema.game_messages import CheckedPlay, GameFinding, MethodSource
from attract.schema.playtest import (
    PlaytestAlarm,
    PlaytestDrill,
    PlaytestDrilled,
    PlaytestEpisode,
    PlaytestPlays,
    PlaytestPolicy,
)
from attract.schema.recorded_episode import (
    EpisodeDifference,
    EpisodeError,
    EpisodeMarks,
    EpisodeReplay,
    EpisodeSeat,
    PackedActions,
    RecordedEpisode,
)
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.schema.step_numbers import CONTINUES, REPEATS, WHOLE, PackedPictures, PackedStacks
from attract.schema.tensor import from_numpy

SEED = m.Seed(low=0xDEADBEEF, high=0xFFFFFFFF)
HASH = "0123456789abcdef" * 4
GAME = GameReference(name="cartpole", sha256=HASH, url=f"games/{HASH}.js")
DESCRIPTION = GameDescription(
    id="Straße-v1 \N{VIDEO GAME}",
    tick_seconds=1 / 60,
    seconds_per_step=6 / 60,
    ticks_per_step=6,
    max_seconds=50.0,
    max_steps=500,
    observation=BoxSpace(shape=[2], low=[-1.0, -2.5], high=None),
    action=DiscreteSpace(n=2, labels=["left", "right"]),
    keys={"ArrowLeft": 0.0, "ArrowRight": 1.0},
    idle_action=0.0,
    parameters={"size": ParameterRange(default=10.0, low=6.0, high=20.5)},
    metrics={"food": "last"},
    reward_terms={"food": 1.0, "step": -0.01},
    reward=RewardRange(low=-0.01, high=0.99),
    has_draw=True,
)
HORIZON, SLOTS = 3, 2
RECORDED = RecordedEpisode(
    run_id="cartpole-1",
    game_id="Straße-v1 \N{VIDEO GAME}",
    game_sha256=HASH,
    seed=SEED,
    instance=33,
    episode=2,
    parameters={"size": 6.5},
    lesson_id="small",
    seats=[EpisodeSeat(player="policy", policy_id="main", policy_version=12, deterministic=True)],
    seconds_per_step=6 / 60,
    actions=PackedActions(dtype="uint8", shape=[3, 1], deflated=False, data="AQAB"),
    marks=EpisodeMarks(interval=2, hashes="0123abcd" * 2),
    returns=[1.25],
    num_steps=3,
    num_ticks=17,
    end_reason="failed",
    error=EpisodeError(kind="throw", name="TypeError", text="x is undefined", stack=None, tick=17),
)


def steps(*shape: int) -> np.ndarray:
    """1000 s + t at step t of column s, with 0.25 more per further element: a mixed-up row shows."""
    t, s, *rest = np.indices(shape)
    return (1000 * s + t + 0.25 * sum(rest, np.zeros(shape))).astype(np.float32)


def flags_of(*values: int) -> m.Tensor:
    """[k] uint8."""
    return from_numpy(np.array(values, np.uint8))


def flags(*set_at: tuple[int, int]) -> m.Tensor:
    """[horizon, slots] uint8, 1 at the (step, column) pairs."""
    array = np.zeros((HORIZON, SLOTS), np.bool_)
    for step, column in set_at:
        array[step, column] = True
    return from_numpy(array)


def picture(*leading: int) -> m.Tensor:
    """[*leading, 2, 1, 1] uint8, the newest picture of a stack of two, each byte another."""
    return from_numpy(np.arange(2 * math.prod(leading), dtype=np.uint8).reshape(*leading, 2, 1, 1))


EPISODE = m.EpisodeResult(
    instance_id=7,
    episode=2**40,
    step=1,
    returns=[17.0],
    length_steps=17,
    length_ticks=102,
    end_reason="time_limit",
    metrics={"food": 3.0},
    reward_terms={"food": 3.0, "step": -0.17},
)
BLOCK = m.Block(
    run_id="cartpole-1",
    lease_id=5_000_000_000,
    segment_index=1,
    block_index=3,
    policy_version=12,
    slot_id=from_numpy(np.array([7, 9], np.int32)),
    first_step=from_numpy(np.array([96, 128], np.int32)),
    observation={"eye": picture(HORIZON, SLOTS), "obs": from_numpy(steps(HORIZON, SLOTS, 2))},
    packed={
        "eye": PackedPictures(
            stacks=PackedStacks(
                step=from_numpy(
                    np.array([[WHOLE, REPEATS], [CONTINUES, CONTINUES], [REPEATS, CONTINUES]], np.uint8)
                ),
                bootstrap=flags_of(REPEATS, CONTINUES),
                final=flags_of(CONTINUES),
                older=picture(1),
            ),
            deflated=False,
        )
    },
    action=from_numpy(np.array([[0, 1], [1, 1], [0, 0]], np.int32)),
    log_prob=from_numpy(np.full((HORIZON, SLOTS), -0.6931472, np.float32)),
    value=from_numpy(steps(HORIZON, SLOTS)),
    reward=from_numpy(np.ones((HORIZON, SLOTS), np.float32)),
    terminated=flags((2, 0)),
    truncated=flags((1, 0)),
    valid=from_numpy(np.ones((HORIZON, SLOTS), np.bool_)),
    executed_ticks=from_numpy(np.array([[6, 6], [4, 6], [1, 6]], np.uint16)),
    bootstrap_observation={"eye": picture(SLOTS), "obs": from_numpy(steps(SLOTS, 2))},
    bootstrap_value=from_numpy(np.array([0.0, 1.5], np.float32)),
    final_observations=m.FinalObservations(
        step=from_numpy(np.array([1], np.int32)),
        column=from_numpy(np.array([0], np.int32)),
        observation={"eye": picture(1), "obs": from_numpy(np.array([[0.5, -0.5]], np.float32))},
        value=from_numpy(np.array([3.25], np.float32)),
    ),
    episodes=columns_of(
        [
            EPISODE,
            EPISODE.model_copy(update={"instance_id": 9, "step": 2, "metrics": {}, "lesson_id": "small"}),
        ]
    ),
)

FROM_BROWSER: list[WireModel] = [
    m.Hello(
        protocol_version=PROTOCOL_VERSION,
        build="0123abcd",
        role="worker",
        token="a-token",
        host_id="0f" * 16,
        worker_index=0,
        worker_key="1e" * 16,
        run_id="cartpole-1",
        device=m.Device(user_agent="Mozilla/5.0", hardware_concurrency=2),
    ),
    m.GameDescribed(run_id="cartpole-1", sha256=HASH, description=DESCRIPTION),
    m.GameFailed(
        run_id="cartpole-1",
        kind="throw",
        name="TypeError",
        text="x is undefined",
        stack="at update (game.ts:3:7)",
        method=MethodSource(name="Catch.update", text="update() {}", field="reward"),
        step_values='action 1 ("right"), observation [0.5, NaN]',
        worker_index=1,
        lease_id=4,
        slot_id=33,
        instance_id=33,
        episode=2,
        tick=1000,
        seed=SEED,
        recorded=RECORDED,
    ),
    m.GameChecked(
        check_id=3,
        findings=[
            GameFinding(
                id="random",
                severity="error",
                text="the game calls Math.random() (17 times in all)",
                fix="draw from `random` of start()",
                stack=f"    at Catch.update (http://127.0.0.1:8000/games/{HASH}.js:3:7)",
                recorded=RECORDED,
            )
        ],
        description=DESCRIPTION,
        play=CheckedPlay(
            steps=10_000,
            episodes=450,
            return_mean=22.25,
            return_std=11.5,
            length_mean=22.25,
            returns=[22.25, -0.5],
            microseconds_per_tick=0.25,
            create_milliseconds=0.125,
        ),
        first_episode=RECORDED,
        unplayable=False,
        seconds=0.0625,
    ),
    m.EpisodesReplayed(
        replay_id=4,
        replays=[
            EpisodeReplay(
                equal=False,
                difference=EpisodeDifference(step=2, seconds=0.2, text="agent 0 sees something else"),
                returns=[1.0],
                num_steps=2,
                num_ticks=12,
                end_reason="terminated",
                play_seconds=0.5,
            )
        ],
        problem="the game did not come back",
    ),
    m.PlayedAgain(replay_id=6, blocks=[b"\x81\xa4type\xa5block"], problem="the game did not come back"),
    m.GamePlaytested(
        playtest_id=5,
        episodes=[
            PlaytestEpisode(
                play=1,
                index=7,
                episode_return=2.5,
                num_steps=30,
                num_ticks=120,
                end_reason="failed",
                info={"level": 2.0},
                play_seconds=0.125,
                alarms=[
                    PlaytestAlarm(oracle="nan", text="update() returned reward = NaN", step=29, tick=118)
                ],
                recorded=RECORDED,
            )
        ],
        description=DESCRIPTION,
        left_out=["the player trained:greedy cannot play: expected 4 numbers, got 2"],
        drilled=[PlaytestDrilled(kind="dead-key", numbers={"action 0": 0.5}, problem="no time was left")],
        problem="the game did not come back",
        seconds=1.5,
    ),
    m.GameLog(run_id="cartpole-1", level="warn", text="x is NaN \N{VIDEO GAME}", dropped=7),
    m.HostStatus(run_id=None, num_workers=2, hidden=True),
    m.PolicyAck(run_id="cartpole-1", policy_id="main", policy_version=12, create_ms=3.0),
    m.Progress(run_id="cartpole-1", lease_id=5_000_000_000, steps=64),
    BLOCK,
    m.RolloutClose(
        run_id="cartpole-1",
        lease_id=5_000_000_000,
        num_blocks=4,
        slot_id=from_numpy(np.array([7, 9], np.int32)),
        bootstrap_value=from_numpy(np.array([0.0, 1.5], np.float32)),
        play_seconds=0.5,
        inference_seconds=0.25,
        game_seconds=0.125,
        wait_seconds=0.0,
    ),
    m.EvaluationResult(
        run_id="cartpole-1", lease_id=6, policy_version=12, episodes=[EPISODE], play_seconds=1.75
    ),
    m.EpisodeRecorded(run_id="cartpole-1", lease_id=6, episode=RECORDED),
    m.Ask(
        run_id="cartpole-1",
        order_id=7,
        policy_id="outside:bot",
        agent=[1, 1],
        observation={"obs": from_numpy(steps(2, 3))},
        action_mask=from_numpy(np.array([[1, 0], [1, 1]], np.uint8)),
    ),
    m.Observe(
        run_id="cartpole-1",
        lease_id=7,
        group=1,
        step=640,
        observation={"obs": from_numpy(steps(2, 3))},
        active=flags_of(1, 1),
        episode=from_numpy(np.array([4, 0], np.int32)),
        episode_step=from_numpy(np.array([0, 64], np.int32)),
        outcome=m.StepOutcome(
            reward=from_numpy(np.array([1.0, -0.5], np.float32)),
            terminated=flags_of(0, 0),
            truncated=flags_of(1, 0),
            valid=flags_of(1, 1),
            executed_ticks=from_numpy(np.array([4, 4], np.uint16)),
            final_column=from_numpy(np.array([0], np.int32)),
            final_observation={"obs": from_numpy(steps(1, 3))},
            episodes=[EPISODE],
            step_seconds=0.0005,
        ),
    ),
    m.Goodbye(),
]
SEAT = m.WelcomeWorker(
    run_id="cartpole-1",
    worker_id=1,
    game=GAME,
    description=DESCRIPTION,
    instance_ids=[32, 33],
    seed=SEED,
    horizon=32,
    max_frame_bytes=262_144,
    state_size=128,
)
LEASE = m.Lease(
    run_id="cartpole-1",
    lease_id=5_000_000_000,
    purpose="evaluate",
    seats=[m.Seat(policy_version=12, deterministic=True, learns=False)],
    game_sha256=HASH,
    seed=SEED,
    num_segments=0,
    episodes=[m.EpisodeOrder(index=0), m.EpisodeOrder(index=1)],
    max_episode_steps=10_000,
    desync_steps=500,
    parameters={"size": m.ParameterDistribution(kind="uniform", values=[6.0, 20.5])},
    lesson_id="first",
    group_sizes=[32, 32],
    tells_terminal=True,
    record="extremes",
    replays=[
        m.ReplayOrder(
            instance_id=7,
            episode=3,
            first_step=96,
            num_before=1,
            action=from_numpy(np.array([[1], [0], [1], [1]], np.int32)),
            begun=m.EpisodeTerms(
                lesson_id="small", parameters={"size": m.ParameterDistribution(values=[6.0])}
            ),
        )
    ],
)
TO_BROWSER: list[WireModel] = [
    m.Refused(code="build", reason="this page is of build a, the server of b", fix="reload", close_code=4001),
    m.WelcomeHost(host_id="0f" * 16, tier="local"),
    m.Assignment(run_id="cartpole-1", game=GAME, num_workers=2, describe=True),
    m.CheckGame(
        check_id=3,
        game=GAME,
        budget_seconds=0.75,
        random_episodes=20,
        parameters={"size": m.ParameterDistribution(kind="uniform", values=[6.0, 20.5])},
        is_fresh=True,
        record=True,
    ),
    m.ReplayEpisodes(replay_id=4, game=GAME, episodes=[RECORDED], budget_seconds=30.0),
    m.PlayAgain(replay_id=6, game=GAME, seat=SEAT, lease=LEASE, budget_seconds=30.0),
    m.PlaytestGame(
        playtest_id=5,
        game=GAME,
        seed=SEED,
        plays=[
            PlaytestPlays(player="hold-0", first=0, count=8),
            PlaytestPlays(player="trained:clumsy", first=8, count=24),
        ],
        drills=[PlaytestDrill(kind="soft-lock", episodes=[RECORDED])],
        policies=[PlaytestPolicy(name="trained", document="{}", model=b"\x08\x0a")],
        episodes=[RECORDED],
        parameters={"size": 12.0},
        max_steps=600,
        fresh_every=4,
        record=True,
        budget_seconds=20.0,
    ),
    SEAT,
    LEASE,
    m.Act(run_id="cartpole-1", lease_id=7, group=1, action=from_numpy(np.array([1, 0], np.int32))),
    m.Answer(run_id="cartpole-1", order_id=7, action=from_numpy(np.array([0, 1], np.int32))),
    m.Policy(run_id="cartpole-1", policy_version=12, onnx=bytes(range(256))),
    m.BlockAck(run_id="cartpole-1", lease_id=5_000_000_000, block_index=3, accepted=False, reason="spent"),
    m.LeaseVoid(run_id="cartpole-1", lease_id=5_000_000_000, reason="lapsed after 15 s of silence"),
    m.RunEnded(run_id="cartpole-1", reason="stopped"),
]
GOLDEN: dict[str, WireModel] = {
    **{f"from_browser.{message.model_dump()['type']}": message for message in FROM_BROWSER},
    **{f"to_browser.{message.model_dump()['type']}": message for message in TO_BROWSER},
}
