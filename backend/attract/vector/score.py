"""Scores an exported policy in a game: `python -m attract.vector.score MODULE POLICY` plays it in Node.

The game need not be the one that the policy was trained on; it has to look and be played alike, as a duel
does whose other side is a script.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from attract.algorithm.distributions import ActionDistribution
from attract.errors import AttractError, ConfigurationError
from attract.experience.layout import observation_fields
from attract.policy.graph import MASK_INPUT
from attract.policy.network import build_distribution
from attract.vector.environments.environment import VectorEnvironment


def score(module: Path, policy: Path, *, games: int, seed: int, sampled: bool = False) -> list[float]:
    """Return of the first episode of each of `games` copies; in every step the likeliest action is taken.

    Args:
        module: a game of one agent.
        policy: an exported `policy.onnx` of no recurrent state.
        games: copies, each with a random stream of its own.
        seed: of all streams.
        sampled: actions are drawn from the policy instead. What was learned against itself is a mixture: of
            two that a policy likes about as well, the likeliest alone is one that it never learned to play.

    Raises:
        ConfigurationError: for a policy or a game that this cannot play.
        GameError, ProtocolError: as `VectorEnvironment`.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(policy), options, providers=["CPUExecutionProvider"])
    inputs = {given.name for given in session.get_inputs()}
    with VectorEnvironment(
        module.name, games, async_factor=1, seed=seed, project_dir=module.parent.resolve()
    ) as env:
        keys = list(observation_fields(env.description))
        names = {key: "obs" if len(keys) == 1 else f"obs_{i}" for i, key in enumerate(keys)}
        has_mask = env.description.action_mask
        wanted = {*names.values(), MASK_INPUT} if has_mask else set(names.values())
        if env.num_agents != 1 or env.description.action.kind in ("box", "mixed") or inputs != wanted:
            raise ConfigurationError(
                f"{policy} takes {', '.join(sorted(inputs))}: only policies without recurrent state "
                f"are scored, in games of one agent with discrete actions; here it has to take "
                f"{', '.join(sorted(wanted))}",
                setting=str(module),
            )
        distribution = build_distribution(env.description) if sampled else None
        draws = torch.Generator().manual_seed(seed)
        returns: dict[int, float] = {}
        (batch,) = env.reset()
        while len(returns) < games:
            feed = {name: batch.observation[key] for key, name in names.items()}
            if batch.action_mask is not None:
                feed[MASK_INPUT] = batch.action_mask.astype(np.uint8)
            if distribution is None:
                actions = np.asarray(session.run(["action"], feed)[0])
            else:
                outputs = session.run(distribution.output_names, feed)
                actions = _drawn(distribution, outputs, draws, batch.action_mask)
            env.send(actions.astype(np.int32))
            batch = env.recv()
            returns |= {
                episode.instance_id: episode.returns[0] for episode in batch.episodes if episode.episode == 0
            }
    return [returns[game] for game in sorted(returns)]


def _drawn(
    distribution: ActionDistribution,
    outputs: Sequence[Any],
    draws: torch.Generator,
    action_mask: NDArray[np.bool_] | None,
) -> Any:
    """An allowed action of each row of the graph's outputs."""
    rows = torch.cat([torch.from_numpy(np.asarray(output)) for output in outputs], 1)
    uniforms = torch.rand(len(rows), distribution.num_draws, generator=draws)
    mask = None if action_mask is None else torch.from_numpy(action_mask)
    return distribution.sample(rows, uniforms, mask).numpy()


def main(arguments: list[str]) -> int:
    """Print `{episodes, return_mean, return_std, won}` as JSON; `won` is the share of returns above 0."""
    parser = argparse.ArgumentParser(prog="python -m attract.vector.score", description=main.__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("policy", type=Path)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--sampled", action="store_true", help="draw actions instead of the likeliest")
    given = parser.parse_args(arguments)
    try:
        returns = np.array(
            score(given.module, given.policy, games=given.games, seed=given.seed, sampled=given.sampled)
        )
    except AttractError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(
        json.dumps(
            {
                "episodes": len(returns),
                "return_mean": float(returns.mean()),
                "return_std": float(returns.std()),
                "won": float((returns > 0).mean()),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
