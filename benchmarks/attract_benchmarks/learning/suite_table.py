"""The section of the results page about simple games with the defaults."""

from collections.abc import Sequence
from statistics import mean

from attract_benchmarks.learning.plan import Run, Variant
from attract_benchmarks.learning.record import Record, Row
from attract_benchmarks.learning.suite import (
    BARE,
    PLAIN_GAMES,
    TASK_PREFIX,
    PlainGame,
    is_met,
    is_said,
    strategies,
    variants_of,
)
from attract_benchmarks.learning.table_cells import MISSING

INTRODUCTION = """## Plain games with the defaults

Made by `attract results --suite defaults`: games as a newcomer would write them (`benchmarks/suite`), none
with settings of its own, trained with the bare defaults and judged as above, also with all rewards times
0.001 and times 1,000; returns are given in the game's own rewards. Bars: on the four of Gymnasium's rules
what RL Baselines3 Zoo publishes for Stable-Baselines3's PPO, at no more than its steps; in the duel a share
of games won against the simple strategy, by actions drawn from the policy, as it learned to play against
itself; everywhere else twice what the simple strategy earns, or half of what it costs. SB3's PPO is trained
beside the four with the zoo's settings, and judged by the same episodes.

Where no single default explores far enough or remembers, the bare run has to say so within a quarter of its
steps, naming the setting of the next row, and that has to reach the bar."""

STRATEGIES = "The simple strategies, and the means of {episodes} episodes that bars are computed from:"


def render_suite(record: Record, runs: Sequence[Run]) -> str:
    """The section, from what is recorded of `runs`; empty without a run of the suite.

    Raises: ConfigurationError: without the repository's `benchmarks/suite`.
    """
    mine = [run for run in runs if run.task.startswith(TASK_PREFIX)]
    if not mine:
        return ""
    scales = sorted({run.reward_scale for run in mine}, key=lambda scale: (scale != 1.0, scale))
    lines = [
        "| Game | Settings | Bar, every seed | Steps | "
        + " | ".join(f"Return per seed, rewards x {scale:,g}" for scale in scales)
        + " | Met | SB3's return per seed |",
        "|" + "---|" * (6 + len(scales)),
    ]
    for game in PLAIN_GAMES:
        for variant in variants_of(game):
            own = [run for run in mine if (run.task, run.variant) == (TASK_PREFIX + game.name, variant.name)]
            if own:
                lines.append(_line(record, game, variant, own, scales, mine))
    return "\n\n".join([INTRODUCTION, "\n".join(lines), _strategies()])


def _line(
    record: Record,
    game: PlainGame,
    variant: Variant,
    own: Sequence[Run],
    scales: Sequence[float],
    runs: Sequence[Run],
) -> str:
    rows = [record.get(run) for run in own]
    cells = [game.title, variant.policy, _target(game, variant), _steps(own, rows)]
    for scale in scales:
        cells.append(_means([record.get(run) for run in own if run.reward_scale == scale]))
    cells.append(_verdict(game, variant, rows))
    baselines = [run for run in runs if run.task == own[0].task and run.baseline is not None]
    cells.append(_means([record.get(run) for run in baselines]) if baselines and variant.name == BARE else "")
    return "| " + " | ".join(cells) + " |"


def _target(game: PlainGame, variant: Variant) -> str:
    if game.opponent is not None:
        return f">= {variant.target:.0%} won"
    return f">= {_number(variant.target, digits=_digits([variant.target]))}"


def _steps(own: Sequence[Run], rows: Sequence[Row | None]) -> str:
    trained = [row.agent_steps for row in rows if row is not None]
    return f"{max(trained, default=own[0].steps):,}"


def _means(rows: Sequence[Row | None]) -> str:
    if all(row is None for row in rows):
        return MISSING
    digits = _digits([row.return_mean for row in rows if row is not None])
    return ", ".join(MISSING if row is None else _number(row.return_mean, digits=digits) for row in rows)


def _digits(values: Sequence[float]) -> int:
    return 2 if values and mean(abs(value) for value in values) < 10 else 1


def _number(value: float, *, digits: int) -> str:
    return f"{value:.{digits}f}"


def _verdict(game: PlainGame, variant: Variant, rows: Sequence[Row | None]) -> str:
    """`yes` or `no` over all seeds and scales, open while one is missing; or how many report the miss."""
    missed = [row for row in rows if row is not None and not is_met(game, row)]
    may_say = variant.name == BARE and game.named and all(is_said(game, row) for row in missed)
    if missed and not may_say:
        return "no"
    if any(row is None for row in rows):
        return "open"
    if not missed:
        return "yes"
    solved = len(rows) - len(missed)
    return f"{solved} solve it, {len(missed)} say so" if solved else f"{len(missed)} of {len(rows)} say so"


def _strategies() -> str:
    known = strategies()
    episodes = max(strategy.episodes for strategy in known.values())
    lines = [
        STRATEGIES.format(episodes=episodes),
        "",
        "| Game | Simple strategy | Its return | Random play |",
        "|---|---|---|---|",
    ]
    for game in PLAIN_GAMES:
        strategy = known[game.name]
        lines.append(f"| {game.title} | {strategy.says} | {strategy.simple:.1f} | {strategy.random:.1f} |")
    return "\n".join(lines)
