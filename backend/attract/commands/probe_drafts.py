"""Plays a probe's adapter at random, and tries the next candidates where it does not play as the page did."""

import math
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Literal

from attract.schema.api import CheckView
from attract.schema.probe import (
    MAX_TRIED,
    PageProbe,
    ProbeChoice,
    ProbeDraft,
    ProbePlay,
    ProbeVerified,
)

LOOP_SECONDS: Final = 60.0
EPISODES: Final = 20
PLAY_SECONDS: Final = 6.0
LONG_PLAY_SECONDS: Final = 20.0
"""For a page so slow that fewer than `MIN_EPISODES` ended before."""
MIN_EXPECTED: Final = 8.0
"""Times that something should have happened by the probe's rate. Bursts make 3 too few."""
MAX_SHORTER: Final = 20.0
"""Times by which episodes may be shorter than in the probe, which keeps up each move for longer."""
MIN_EPISODES: Final = 3
ENDLESS_SECONDS: Final = 30
"""Length of an episode where random play ends none; longer ones give few returns to compare."""
MAX_UNPAID: Final = 10
"""Episodes of random play for each step in which the score grows; with more, a score teaches nothing."""
MAX_UNWON: Final = 2
"""The same for a win, which an episode has once."""
ROUNDING: Final = 1e-6
"""Share of a return by which equal ones may differ."""
WORDS: Final = 400
MAX_WORST: Final = 9

Problem = Literal["failed", "over-at-once", "never-over", "no-score", "same-score"]
Part = Literal["press", "score", "end", "restart"]

REMEDIES: Final[dict[Problem, tuple[Part, ...]]] = {
    "failed": ("restart", "end", "score"),
    "over-at-once": ("restart", "end"),
    "no-score": ("press", "restart", "score"),
    "same-score": ("score",),
    "never-over": ("press", "restart", "end"),
}
"""The parts whose next candidates are tried, the safest first: a fresh page is right for every game."""
OPEN: Final[dict[Problem, str]] = {
    "failed": "playing",
    "over-at-once": "over",
    "no-score": "score",
    "same-score": "score",
}
"""The option that is unfinished; an end is none, since each adapter has a time limit."""

Write = Callable[[ProbeChoice, list[str]], Awaitable[ProbeDraft]]
Play = Callable[[ProbeDraft], Awaitable[CheckView]]


async def settle(
    found: PageProbe,
    write: Write,
    play: Play,
    *,
    now: Callable[[], float] = time.monotonic,
    seconds: float = LOOP_SECONDS,
) -> tuple[ProbeDraft, ProbeVerified]:
    """The adapter that plays most as the probe saw the page, with what random play by it returned.

    Args:
        found: by the probe.
        write: the adapter of a choice, with options that are unfinished.
        play: an adapter at random.
        now: a clock in seconds.
        seconds: after which nothing further is tried; a play that has begun is finished.

    Raises: AttractError: as `play` does.
    """
    began = now()
    tried: list[ProbePlay] = []

    async def attempt(choice: ProbeChoice) -> tuple[ProbePlay, list[Problem]]:
        view = await play(await write(choice, []))
        problems = problems_of(found, choice, view)
        tried.append(played(choice, view, problems))
        return tried[-1], problems

    async def mended(best: ProbePlay, problems: list[Problem]) -> tuple[ProbePlay, list[Problem]]:
        choices = alternatives(found, best.choice, problems)
        while problems and now() - began < seconds:
            choice = next(choices, None)
            if choice is None:
                break
            if any(choice == known.choice for known in tried):
                continue
            other, others = await attempt(choice)
            if _weight(others) < _weight(problems):
                best, problems = other, others
                choices = alternatives(found, best.choice, problems)
        return best, problems

    best, problems = await mended(*await attempt(first_choice(found)))
    if best.steps > 0 and best.ended == 0:
        # Only here are there enough episodes to compare.
        shorter = best.choice.model_copy(update={"max_seconds": ENDLESS_SECONDS})
        best, problems = await mended(*await attempt(shorter))
    added = [] if problems else _added(found, best)
    for name in added:
        choice = best.choice.model_copy(update={name: True})
        # Where it is not known what the player is, it reaches nothing.
        if (await write(choice, [])).adapter == (await write(best.choice, [])).adapter:
            continue
        other, others = await attempt(choice)
        best = best if others else other
    options = sorted({OPEN[problem] for problem in problems if problem in OPEN})
    draft = await write(best.choice, options)
    return draft, ProbeVerified(
        play=best, tried=tried[:MAX_TRIED], open=options, seconds=round(now() - began, 1)
    )


def first_choice(found: PageProbe) -> ProbeChoice:
    """The likeliest of all candidates."""
    return ProbeChoice(score=None if found.score is None else 0, end=None if found.end is None else 0)


def alternatives(found: PageProbe, base: ProbeChoice, problems: list[Problem]) -> Iterator[ProbeChoice]:
    """`base` with another candidate of a single part, in the order in which they are tried."""
    candidates = found.candidates
    # A score that never grew says nothing about whether it would.
    grown = [index for index, score in enumerate(candidates.score) if score.ups > 0]
    others: dict[Part, list[int | None]] = {
        "press": list(range(len(candidates.press))),
        "restart": list(range(len(candidates.restart))),
        "score": [*grown],
        "end": [*range(len(candidates.end))],
    }
    for problem in problems:
        for part in REMEDIES[problem]:
            # That no end comes is no better where there is none.
            last = [None] if part == "end" and problem != "never-over" and base.end is not None else []
            for index in [*others[part], *last]:
                if index != getattr(base, part):
                    yield base.model_copy(update={part: index})


def problems_of(found: PageProbe, choice: ProbeChoice, view: CheckView) -> list[Problem]:
    """How random play by the adapter differs from what the probe saw, the worst first."""
    play = view.play
    if play is None or view.description is None:
        return ["failed"]
    frames = play.steps * view.description.ticks_per_step
    problems: list[Problem] = []
    end = None if choice.end is None or not found.candidates.end else found.candidates.end[choice.end]
    length = None if play.length_mean is None else play.length_mean * view.description.ticks_per_step
    at_once = any(finding.id == "over-at-once" for finding in view.findings)
    if length is not None and play.terminated >= MIN_EPISODES and end is not None and end.ended:
        at_once = at_once or length * MAX_SHORTER < end.frames / end.ended
    if at_once:
        problems.append("over-at-once")
    score = (
        None if choice.score is None or not found.candidates.score else found.candidates.score[choice.score]
    )
    if score is not None and play.paid_steps == 0 and _expected(score.ups, score.frames, frames):
        problems.append("no-score")
    # A clock, by its value. Where the game ends, even that is worth something.
    if score is not None and play.terminated == 0 and play.episodes >= MIN_EPISODES and play.paid_steps:
        slack = ROUNDING * abs(play.return_mean or 0.0)
        if play.return_std is not None and play.return_std <= slack:
            problems.append("same-score")
    if end is not None and end.ended and play.terminated == 0 and _expected(end.ended, end.frames, frames):
        problems.append("never-over")
    return problems


def played(choice: ProbeChoice, view: CheckView, problems: list[Problem]) -> ProbePlay:
    """The play in numbers, and what is wrong with it in words."""
    play = view.play
    failed = [finding.text[:WORDS] for finding in view.findings if finding.severity == "error"][:3]
    if play is None or view.description is None:
        return ProbePlay(
            choice=choice,
            steps=0,
            frames=0,
            episodes=0,
            return_mean=None,
            standard_error=None,
            length_mean=None,
            ended=0,
            paid_steps=0,
            problems=failed or ["it could not be played"],
        )
    deviation = play.return_std
    return ProbePlay(
        choice=choice,
        steps=play.steps,
        frames=play.steps * view.description.ticks_per_step,
        episodes=play.episodes,
        return_mean=play.return_mean,
        standard_error=None if deviation is None else deviation / math.sqrt(max(1, play.episodes)),
        length_mean=play.length_mean,
        ended=play.terminated,
        paid_steps=play.paid_steps,
        problems=[SAID[problem] for problem in problems],
    )


SAID: Final[dict[Problem, str]] = {
    "failed": "it could not be played",
    "over-at-once": "episodes end as they begin, and did not in the probe",
    "no-score": "the score does not grow, and grew in the probe",
    "same-score": "the score of every episode is the same, however it is played",
    "never-over": "the end does not come, and came in the probe",
}


def _added(found: PageProbe, play: ProbePlay) -> list[str]:
    """What earns a little beside a score that random play rarely meets, by its name in the choice."""
    is_lost = play.ended >= MIN_EPISODES
    if play.choice.score is None:
        return ["alive"] if is_lost else []
    # An environment rewards by itself, and has no candidates.
    if not found.candidates.score:
        return []
    is_win = "says(w, [" in found.candidates.score[play.choice.score].text
    if play.paid_steps * (MAX_UNWON if is_win else MAX_UNPAID) >= play.episodes:
        return []
    # A win is an end, too: to put it off is no goal.
    return ["alive", "reached"] if is_lost and not is_win else ["reached"]


def _expected(count: int, seen_frames: int, frames: int) -> bool:
    return count * frames >= MIN_EXPECTED * max(1, seen_frames)


def _weight(problems: list[Problem]) -> int:
    return MAX_WORST if "failed" in problems else len(problems)
