"""A rollout worker without a browser: speaks the real messages; its game's numbers name themselves."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from attract.schema import PROTOCOL_VERSION
from attract.schema.episode_results import EpisodeResult
from attract.schema.episodes import columns_of
from attract.schema.game import GameDescription, GameReference
from attract.schema.messages import (
    Block,
    EvaluationResult,
    FinalObservations,
    FromBrowser,
    Hello,
    Lease,
    LeaseVoid,
    Policy,
    PolicyAck,
    Progress,
    RolloutClose,
    RunEnded,
    Seed,
    Tensor,
    ToBrowser,
    WelcomeWorker,
)
from attract.schema.philox import sequential_words, uniforms
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.schema.tensor import from_numpy

SHA256 = "ab" * 32
Judge = Callable[[np.ndarray[Any, Any]], tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]
"""A policy: log-probabilities [..., A] and values [...] of observations [..., D]; all float32."""


def counting_description(
    *, observation_size: int = 2, num_actions: int = 3, num_agents: int = 1, max_steps: int | None = 7
) -> GameDescription:
    """A game that counts: every episode lasts `max_steps` steps and is then truncated."""
    return GameDescription(
        id="Counting-v1",
        tick_seconds=0.1,
        seconds_per_step=0.2,
        ticks_per_step=2,
        max_seconds=None,
        max_steps=max_steps,
        num_agents=num_agents,
        observation=BoxSpace(shape=[observation_size]),
        action=DiscreteSpace(n=num_actions),
    )


def counting_game(name: str = "counting") -> GameReference:
    """Reference to the counting game."""
    return GameReference(name=name, sha256=SHA256, url=f"games/{SHA256}.js")


@lru_cache(maxsize=64)
def constant_tensors(horizon: int, columns: int, num_actions: int, ticks: int) -> dict[str, Tensor]:
    """The tensors of a block that are the same in every block of one shape."""
    zeros = np.zeros((horizon, columns), np.float32)
    return {
        "log_prob": from_numpy(zeros - np.float32(np.log(num_actions))),
        "value": from_numpy(zeros),
        "terminated": from_numpy(zeros.astype(np.bool_)),
        "valid": from_numpy(np.ones(zeros.shape, np.bool_)),
        "executed_ticks": from_numpy(np.full(zeros.shape, ticks, np.uint16)),
        "bootstrap_value": from_numpy(zeros[0]),
    }


@dataclass
class FakeWorker:
    """One worker's life. `deliver` takes what the server sends, `play` gives the next messages of its game.

    The observation of slot s at its own step t is 1000 * s + t in every element; the reward is t; episodes
    last `episode_steps` steps and end truncated. Several agents share an instance's episodes.
    """

    run_id: str
    host_id: str = "0" * 32
    worker_index: int = 0
    worker_key: str = "1" * 32
    token: str | None = None
    build: str = "test"
    slots_per_block: int = 1_000_000
    episode_steps: int = 7
    breaks: bool = False
    """Whether agents but the first end after 3 steps of each episode and come back after 2 more (E9)."""
    draws_returns: bool = False
    """Whether an episode's returns come from its own random stream (C5); its last reward makes up for it."""
    episode_return: float | None = None
    """What every episode returns: its rewards are 1 but for the last, and it ends terminated."""
    evaluation_return: float = 0.0
    """What every evaluation episode returns; 0: its index."""
    judge: Judge | None = None
    """The policy whose log-probabilities and values training blocks carry, beside an `episode_return`."""
    first_observation: float | None = None
    """Replaces every observation's first element (to send something bad)."""
    welcome: WelcomeWorker | None = None
    policies: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Policies it has, by id and version, oldest first."""
    leases: list[Lease] = field(default_factory=list[Lease])
    """Open leases in the order in which it plays them."""
    last_lease: Lease | None = None
    """That it played last; what that names is not sent again."""
    ended: str | None = None
    unacknowledged: list[Block] = field(default_factory=list[Block])
    last_close: RolloutClose | EvaluationResult | None = None
    """Close message of the newest finished lease; sent again on a new socket, in case it was lost."""
    accepted: int = 0
    refused: list[str] = field(default_factory=list[str])
    _seen_leases: set[int] = field(default_factory=set[int])
    _segment: int = 0
    _step: int = 0
    _blocks: int = 0

    def hello(self) -> Hello:
        """The first message on a socket, always with the same key."""
        return Hello(
            protocol_version=PROTOCOL_VERSION,
            build=self.build,
            role="worker",
            token=self.token,
            host_id=self.host_id,
            worker_index=self.worker_index,
            worker_key=self.worker_key,
            run_id=self.run_id,
        )

    def deliver(self, message: ToBrowser) -> list[FromBrowser]:
        """Take a message of the server; what to answer at once."""
        match message:
            case WelcomeWorker():
                if self.welcome is not None and self.welcome.instance_ids != message.instance_ids:
                    raise AssertionError("the same worker got other instances")
                self.welcome = message
                again: list[FromBrowser] = list(self.unacknowledged)
                return again if self.last_close is None else [*again, self.last_close]
            case Policy():
                return self.take_policy(message.policy_version, message.policy_id)
            case Lease():
                if message.lease_id not in self._seen_leases:
                    self._seen_leases.add(message.lease_id)
                    self.leases.append(message)
            case LeaseVoid():
                self._drop(message.lease_id)
            case RunEnded():
                self.ended = message.reason
            case _ if message.type == "block_ack":
                mine = (message.lease_id, message.block_index)
                self.unacknowledged = [
                    block for block in self.unacknowledged if (block.lease_id, block.block_index) != mine
                ]
                if message.accepted:
                    self.accepted += 1
                else:
                    self.refused.append(message.reason or "")
            case _:
                pass
        return []

    def take_policy(self, version: int, policy_id: str = "main") -> list[FromBrowser]:
        """A policy arrived: of each id it keeps the highest version, the last eight, and what leases need."""
        played = [*self.leases, *([] if self.last_lease is None else [self.last_lease])]
        needed = {(seat.policy_id, seat.policy_version) for lease in played for seat in lease.seats}
        key = (policy_id, version)
        others = [policy for policy in self.policies if policy != key]
        own = [policy for policy in others if policy[0] == policy_id]
        gone = {*own[:-8]} - {max(own, default=key)} - needed
        self.policies = [*(policy for policy in others if policy not in gone), key]
        ack = PolicyAck(run_id=self.run_id, policy_id=policy_id, policy_version=version, create_ms=1.0)
        return [ack]

    def play(self) -> list[FromBrowser]:
        """Play one segment (or one evaluation): the blocks and closes that gives; nothing without a lease."""
        if not self.leases or self.welcome is None:
            return []
        lease = self.leases[0]
        self.last_lease = lease
        if lease.purpose == "replay":
            self.leases.pop(0)
            self.last_close = self._close(lease)
            return [*self._replays(lease), self.last_close]
        for seat in lease.seats:
            if seat.script is None and (seat.policy_id, seat.policy_version) not in self.policies:
                raise AssertionError(f"lease {lease.lease_id} needs a policy that was never sent: {seat}")
        if lease.purpose == "evaluate":
            self.leases.pop(0)
            self.last_close = self._evaluation(lease)
            return [self.last_close]
        out: list[FromBrowser] = []
        if self._segment < lease.num_segments:
            blocks = self.segment_blocks(lease, self._segment, self._step)
            self.unacknowledged += blocks
            out += blocks
            self._segment += 1
            self._step += self.welcome.horizon
        if self._segment >= lease.num_segments:
            self.last_close = self._close(lease)
            out.append(self.last_close)
            self.leases.pop(0)
            self._segment = self._blocks = 0
            if lease.purpose == "warmup":
                self._step = 0
        return out

    def progress(self) -> list[FromBrowser]:
        """A sign of life for the lease in play."""
        if not self.leases:
            return []
        return [Progress(run_id=self.run_id, lease_id=self.leases[0].lease_id, steps=0)]

    @property
    def slot_ids(self) -> list[int]:
        """Its slots, ascending."""
        assert self.welcome is not None
        agents = self.welcome.description.num_agents
        return [
            instance_id * agents + agent
            for instance_id in self.welcome.instance_ids
            for agent in range(agents)
        ]

    def segment_blocks(self, lease: Lease, segment: int, first_step: int) -> list[Block]:
        """The blocks of one segment index, at most `slots_per_block` slots of one policy each."""
        blocks: list[Block] = []
        sent = self._sent(lease, self.slot_ids)
        for policy_id in dict.fromkeys(sent.values()):
            slots = [slot for slot, own in sent.items() if own == policy_id]
            size = min(self.slots_per_block, len(slots))
            for start in range(0, len(slots), size):
                block = self._block(
                    lease, segment, self._blocks, slots[start : start + size], first_step
                ).model_copy(update={"policy_id": policy_id})
                self._blocks += 1
                blocks.append(block)
        return blocks

    def _block(self, lease: Lease, segment: int, index: int, slots: list[int], first_step: int) -> Block:
        assert self.welcome is not None
        horizon, description = self.welcome.horizon, self.welcome.description
        assert isinstance(description.observation, BoxSpace)
        assert isinstance(description.action, DiscreteSpace)
        shape = tuple(description.observation.shape)
        steps = np.arange(first_step, first_step + horizon + 1)
        named = (1000.0 * np.array(slots) + steps[:, None]).astype(np.float32)
        observation = np.broadcast_to(named[..., None], (*named.shape, int(np.prod(shape))))
        observation = observation.reshape(*named.shape, *shape).copy()
        if self.first_observation is not None:
            observation[0] = self.first_observation
        ends = np.broadcast_to(((steps[:-1] + 1) % self.episode_steps == 0)[:, None], (horizon, len(slots)))
        end_step, end_column = np.nonzero(ends)
        agents, is_trained = description.num_agents, lease.purpose == "train"
        games = range(min(slots) // agents * agents, (max(slots) // agents + 1) * agents)
        told_by = {slot // agents: slot for slot in self._sent(lease, games)}
        zeros = np.zeros((horizon, len(slots)), np.float32)
        constants = constant_tensors(horizon, len(slots), description.action.n, description.ticks_per_step)
        rewards = np.broadcast_to(steps[:-1, None], zeros.shape).astype(np.float32)
        if self.breaks:
            phase = np.broadcast_to((steps[:-1] % self.episode_steps)[:, None], zeros.shape)
            mortal = np.array(slots) % agents > 0
            valid = ~(mortal & (phase >= 3) & (phase < 5))
            rewards = rewards * valid
            constants = constants | {
                "terminated": from_numpy(mortal & (phase == 2)),
                "valid": from_numpy(valid),
                "executed_ticks": from_numpy((valid * description.ticks_per_step).astype(np.uint16)),
                "log_prob": from_numpy((valid * -np.log(description.action.n)).astype(np.float32)),
            }
        if self.draws_returns:
            for step, column in zip(end_step.tolist(), end_column.tolist(), strict=True):
                slot, last = slots[column], first_step + step
                drawn = self._returns(slot // agents, last, lease.seed)[slot % agents]
                rewards[step, column] = drawn - self._counted(slot % agents, last) + last
        if self.episode_return is not None:
            rewards = np.where(ends, self.episode_return - (self.episode_steps - 1), 1).astype(np.float32)
            constants = constants | {"terminated": from_numpy(ends.copy())}
        actions = np.broadcast_to(steps[:-1, None] % description.action.n, zeros.shape).astype(np.int32)
        if self.judge is not None and lease.purpose == "train":
            log_probs, values = self.judge(observation)
            constants = constants | {
                "log_prob": from_numpy(np.take_along_axis(log_probs[:-1], actions[..., None], -1)[..., 0]),
                "value": from_numpy(values[:-1]),
                # After an episode's last step nothing is worth anything (rule E4).
                "bootstrap_value": from_numpy(np.where(ends[-1], np.float32(0), values[-1])),
            }
        finals = None
        if len(end_step) and self.episode_return is None:
            finals = FinalObservations(
                step=from_numpy(end_step.astype(np.int32)),
                column=from_numpy(end_column.astype(np.int32)),
                observation={"obs": from_numpy(-observation[:-1][end_step, end_column])},
                value=from_numpy(np.full(len(end_step), 0.5, np.float32)),
            )
        return Block(
            run_id=self.run_id,
            lease_id=lease.lease_id,
            segment_index=segment,
            block_index=index,
            policy_version=next(seat.policy_version for seat in lease.seats if seat.learns or not is_trained),
            slot_id=from_numpy(np.array(slots, np.int32)),
            first_step=from_numpy(np.full(len(slots), first_step, np.int32)),
            observation={"obs": from_numpy(observation[:-1])},
            action=from_numpy(actions),
            reward=from_numpy(rewards),
            truncated=from_numpy(ends & (self.episode_return is None)),
            bootstrap_observation={"obs": from_numpy(observation[-1])},
            final_observations=finals,
            **constants,
            episodes=columns_of(
                [
                    self._result(slots[column] // agents, int(first_step + step), int(step), lease.seed)
                    for step, column in zip(end_step.tolist(), end_column.tolist(), strict=True)
                    if slots[column] == told_by[slots[column] // agents]
                ]
            ),
        )

    def _sent(self, lease: Lease, slots: Iterable[int]) -> dict[int, str]:
        """The policy of each of these slots whose segments are sent."""
        first, is_trained = self.slot_ids[0], lease.purpose == "train"
        seats = {slot: lease.seats[(slot - first) % len(lease.seats)] for slot in slots}
        return {slot: seat.policy_id for slot, seat in seats.items() if seat.learns or not is_trained}

    def _replays(self, lease: Lease) -> list[FromBrowser]:
        """Plays again what the orders say: steps follow from episode and actions, rewards from actions."""
        assert self.welcome is not None
        agents = self.welcome.description.num_agents
        answers: list[FromBrowser] = []
        for index, order in enumerate(lease.replays):
            slots = [order.instance_id * agents + agent for agent in range(agents)]
            first = order.episode * self.episode_steps + order.num_before
            block = self._block(lease, index, index, slots, first)
            ordered = np.frombuffer(order.action.data, "<i4").reshape(order.action.shape)[order.num_before :]
            played = np.frombuffer(block.action.data, "<i4").reshape(block.action.shape)
            reward = np.frombuffer(block.reward.data, "<f4").reshape(block.reward.shape)
            # Another action than the counting game's own brings another reward.
            reward = (reward + 0.5 * (ordered != played)).astype(np.float32)
            answers.append(
                block.model_copy(
                    update={
                        "reward": from_numpy(reward),
                        "action": from_numpy(ordered.copy()),
                        "first_step": from_numpy(np.full(agents, order.first_step, np.int32)),
                    }
                )
            )
        return answers

    def _result(self, instance_id: int, last_step: int, step: int, seed: Seed) -> EpisodeResult:
        assert self.welcome is not None
        episode = last_step // self.episode_steps
        returns = self._returns(instance_id, last_step, seed)
        return EpisodeResult(
            instance_id=instance_id,
            episode=episode,
            step=step,
            returns=returns,
            length_steps=self.episode_steps,
            length_ticks=self.episode_steps * self.welcome.description.ticks_per_step,
            end_reason="terminated"
            if self.episode_return is not None
            else "time_limit"
            if episode
            else "cut",
        )

    def _returns(self, instance_id: int, last_step: int, seed: Seed) -> list[float]:
        """What each agent's rewards of the episode that ends there come to."""
        assert self.welcome is not None
        agents = self.welcome.description.num_agents
        if self.episode_return is not None:
            return [self.episode_return] * agents
        if self.draws_returns:
            episode = last_step // self.episode_steps
            words = sequential_words(seed, "game", episode=episode, instance=instance_id, count=agents)
            return uniforms(words).tolist()
        return [float(self._counted(agent, last_step)) for agent in range(agents)]

    def _counted(self, agent: int, last_step: int) -> int:
        """The sum of the numbers of an episode's steps in which an agent takes part."""
        first = last_step - last_step % self.episode_steps
        away = range(first + 3, min(first + 5, last_step + 1)) if self.breaks and agent > 0 else range(0)
        return sum(range(first, last_step + 1)) - sum(away)

    def _close(self, lease: Lease) -> RolloutClose:
        slots = self.slot_ids
        return RolloutClose(
            run_id=self.run_id,
            lease_id=lease.lease_id,
            num_blocks=self._blocks,
            slot_id=from_numpy(np.array(slots, np.int32)),
            bootstrap_value=from_numpy(np.zeros(len(slots), np.float32)),
            play_seconds=0.1,
            inference_seconds=0.05,
            game_seconds=0.05,
            wait_seconds=0.0,
        )

    def _evaluation(self, lease: Lease) -> EvaluationResult:
        assert self.welcome is not None
        results = [
            EpisodeResult(
                instance_id=order.index,
                episode=0,
                step=0,
                returns=[float(self.evaluation_return or order.index)] * self.welcome.description.num_agents,
                length_steps=10,
                length_ticks=20,
                end_reason="terminated",
            )
            for order in lease.episodes
        ]
        return EvaluationResult(
            run_id=self.run_id,
            lease_id=lease.lease_id,
            policy_version=lease.seats[0].policy_version,
            episodes=results,
            play_seconds=0.1,
        )

    def _drop(self, lease_id: int) -> None:
        if self.last_close is not None and self.last_close.lease_id == lease_id:
            self.last_close = None
        if self.leases and self.leases[0].lease_id == lease_id:
            self._segment = self._blocks = 0
        self.leases = [lease for lease in self.leases if lease.lease_id != lease_id]
        self.unacknowledged = [block for block in self.unacknowledged if block.lease_id != lease_id]


def host_hello(
    host_id: str = "0" * 32, *, max_workers: int = 1, build: str = "test", token: str | None = None
) -> Hello:
    """The hello of a host's supervisor."""
    return Hello(
        protocol_version=PROTOCOL_VERSION,
        build=build,
        token=token,
        role="host",
        host_id=host_id,
        max_workers=max_workers,
    )


Lie = Callable[["Peer", list[FromBrowser]], list[FromBrowser]]
"""What a worker sends instead of what it should."""
Key = tuple[int, int, int]
"""(lease_id, slot_id, segment_index): rule S2."""


@dataclass
class Peer:
    """One worker of the simulation, its current socket and how fast it is."""

    worker: FakeWorker
    segment_seconds: float
    connection_id: int | None = None
    frozen: bool = False
    dead: bool = False
    playing: bool = False
    lies: str = ""
    """`progress`: it says every 2 s that it plays, and never does; `steps`: one step more each time."""
    claimed_steps: int = 0
    claimed_lease: int | None = None
    identity: str = ""
    played_seconds: float = 0.0
    is_guest: bool = False
    """Invited, whatever the others are."""
    lie: Lie | None = None
    """What becomes of the blocks that it sends."""
    num_sent: int = 0
    """Segments that it has sent."""
    forged: list[Block] = field(default_factory=list[Block])
    """Blocks that it told otherwise than they were played."""
    untrue: set[Key] = field(default_factory=set[Key])
    """Segments of those that were accepted."""
    left_out_after: int | None = None
    """Those that it had sent when it was left out."""


@dataclass
class Faults:
    """Chances per message or segment; all 0: a perfect world."""

    duplicate: float = 0.0
    lose: float = 0.0
    disconnect: float = 0.0
    freeze: float = 0.0
    die: float = 0.0
    learner_dies: float = 0.0
