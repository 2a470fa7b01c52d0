"""Signs in what updates do to the policy, and in the returns that come of it."""

import math

from attract.diagnosis.history import History
from attract.diagnosis.sign import (
    LATE_STEPS,
    STUCK,
    RunFacts,
    Sign,
    are_all_at_limit,
    is_hopeless,
    is_late,
    is_like_random,
    named,
    percent,
    policy_spreads,
    return_text,
)
from attract.diagnosis.verdict import Measured, Verdict, judge, number_text
from attract.schema.match import wilson
from attract.settings.off_policy import OffPolicySettings

SETTLED_EPSILON = 0.1
"""Above it the games are played worse than what predicted returns are about."""
RECENT_UPDATES = 20
LONG_EXPLORATION_STEPS = 50_000
"""Runs of a slow page are about as long as this."""
LARGE_EPSILON = 0.5
SHORT_EXPLORATION_STEPS = 20_000
"""What the advice asks for."""
FULL = 0.98
"""Share of its memory from which on a buffer has no room for another batch."""
SMALL = 0.5
"""Share of the wanted steps."""
MORE_MEMORY = 4
"""Factor by which the advice raises the memory at most."""


def values_too_high(history: History, facts: RunFacts) -> Sign | None:
    """Predicted returns lie far above those that follow."""
    epsilon = history.last("train/epsilon")
    if epsilon is not None and epsilon > SETTLED_EPSILON:
        return None
    for name, policy in history.policies("train/q_value"):
        predicted = history.median(name, RECENT_UPDATES)
        metric = name.replace("q_value", "discounted_return")
        played = history.means(metric).get(metric)
        if predicted is None or played is None:
            continue
        # Rewards are scaled so that returns deviate by about 1.
        if predicted - played <= 1.0 + abs(played):
            continue
        text = (
            f"the policy{named(policy)} predicts a discounted return of {predicted:.3g}, and {played:.3g} "
            "followed, both in units of the scaled reward"
        )
        return Sign(predicted, text, "values-too-high")
    return None


def explores_long(history: History, facts: RunFacts) -> Sign | None:
    """Actions are mostly random, long after a slow page would have learned from better ones."""
    epsilon = history.last("train/epsilon")
    if epsilon is None or epsilon < LARGE_EPSILON or history.agent_steps < LONG_EXPLORATION_STEPS:
        return None
    text = f"after {history.agent_steps:,} steps {percent(epsilon)} of the actions are random"
    fraction = SHORT_EXPLORATION_STEPS / facts.settings.schedule_steps
    return Sign(epsilon, text, "explores-long", {"fraction": fraction})


def buffer_small(history: History, facts: RunFacts) -> Sign | None:
    """The memory of the replay buffer holds far fewer steps than it is meant to."""
    algorithm = facts.algorithm
    if not isinstance(algorithm, OffPolicySettings):
        return None
    for name, policy in history.policies("train/buffer_steps"):
        steps = history.last(name)
        mebibytes = history.last(name.replace("steps", "mebibytes"))
        wanted = min(algorithm.buffer_size, facts.settings.total_steps or algorithm.buffer_size)
        if not steps or mebibytes is None or mebibytes < FULL * algorithm.buffer_mebibytes:
            continue
        if steps >= SMALL * wanted:
            continue
        text = (
            f"the replay buffer{' of the policy' if policy else ''}{named(policy)} is full with {steps:,.0f} "
            f"steps of {wanted:,}: older ones are forgotten"
        )
        needed = math.ceil(min(MORE_MEMORY, wanted / steps) * algorithm.buffer_mebibytes)
        return Sign(steps, text, "buffer-small", {"mebibytes": needed})
    return None


BEATEN = 0.4
"""Upper bound of a share's interval below which the policy is beaten. A pool of ten is looked at after each
update: where all are equally strong, one run of six is told so by chance at 0.45, one of sixty at 0.4."""
MIN_MET = 100
"""Episodes against a version that say how strong it is."""
HIGH_KL = 0.25
HIGH_CLIP_FRACTION = 0.6
SMALL_KL = 1e-5
LARGE_RATE = 0.025
"""Ten times the default: a few of Adam's steps of that size fix the policy at an extreme."""
USUAL_KL = 0.02
STALLED_UPDATES = 20
UNSETTLED = 0.5
"""Share of the maximum entropy from which on a policy has not made up its mind."""
UNEVEN = 0.25
"""Deviation of the returns, as a share of what was learned, from which on some episodes are much better."""
FORESEEN = 0.7
"""Explained variance from which on ends are no matter of luck: in a game of luck it stays at a half."""
LOST = 0.5
"""Share of the learned return by which an evaluation must fall short, or exceed it, before it is reported."""
STILL_UPDATES = 50
STILL_STEPS = 150_000
"""For so long a return must stay where it is before it says something."""
WIDE = 0.5
"""Deviation of the returns, as a share of their mean, from which on episodes have very different ends."""


def kl_high(history: History, facts: RunFacts) -> Sign | None:
    """Updates change the policy more than their batch justifies."""
    for name, policy in history.policies("train/approx_kl"):
        kl = history.median(name, 10)
        clipped = history.median(name.replace("approx_kl", "clip_fraction"), 10)
        if kl is None or clipped is None or (kl < HIGH_KL and clipped < HIGH_CLIP_FRACTION):
            continue
        rate = history.last("train/learning_rate") or facts.algorithm.learning_rate
        text = (
            f"each update changes the policy{named(policy)} too much: KL {kl:.2g}, {percent(clipped)} clipped"
        )
        return Sign(kl, text, "kl-high", {"lower_rate": rate * _slower(kl)})
    return None


def entropy_collapsed(history: History, facts: RunFacts) -> Sign | None:
    """The policy became deterministic before it found a reward."""
    if history.agent_steps < 20_000 or not is_like_random(history, facts):
        return None
    is_discrete, is_limited = facts.action == "discrete", facts.game.max_steps is not None
    if is_discrete and is_limited and are_all_at_limit(history) and history.reward_high <= 0:
        # Only negative rewards: the goal may lie behind the limit, which `time_limit` reports later.
        return None
    for name, policy in history.policies("train/entropy_share" if is_discrete else "train/action_spread"):
        share = history.median(name, 10)
        if share is None or share >= STUCK:
            continue
        how = "entropy at {} of its maximum" if is_discrete else "actions spread over {} of half their range"
        text = (
            f"the policy{named(policy)} no longer explores ({how.format(percent(share))}) while its "
            f"return, {return_text(history)}, is like random play's"
        )
        rate = facts.algorithm.learning_rate
        if rate >= LARGE_RATE:
            return Sign(share, f"{text}, at a learning rate of {rate:g}", "entropy-collapsed/rate")
        return Sign(share, text, f"entropy-collapsed/{facts.action}")
    return None


def return_fell(history: History, facts: RunFacts) -> Sign | None:
    """The policy lost what it had learned."""
    now, best, baseline = history.now, history.best, history.baseline
    if now is None or best is None or baseline is None or not facts.is_comparable:
        return None
    gain = best.mean - baseline.mean
    if not history.has_improved or gain < 1.5 * baseline.std or now.mean > best.mean - 0.6 * gain:
        return None
    text = (
        f"the return fell to {now.mean:.4g}; it was {best.mean:.4g} before, and {baseline.mean:.4g} at first"
    )
    return Sign(now.mean, text, "return-fell")


def stands_still(history: History, facts: RunFacts) -> Sign | None:
    """The policy learned to last longer, and then no more, though it is undecided and loses."""
    now, baseline = history.now, history.baseline
    at_limit = history.median("rollout/time_limit_share", RECENT_UPDATES)
    length, steps = history.last("rollout/ep_len_mean"), history.recent_steps(STILL_UPDATES)
    is_known = facts.is_comparable and facts.action == "discrete" and steps >= STILL_STEPS
    if not is_known or now is None or baseline is None or at_limit is None or length is None:
        return None
    has_learned = history.has_improved and length > history.baseline_length
    is_uneven = now.std > UNEVEN * (now.mean - baseline.mean)
    share = min(policy_spreads(history, facts), default=0.0)
    foreseen = history.median("train/explained_variance", RECENT_UPDATES) or 0.0
    is_wavering = share >= UNSETTLED and foreseen >= FORESEEN
    if not has_learned or not is_uneven or not is_wavering or at_limit > LOST:
        return None
    if not history.has_stayed(STILL_UPDATES):
        return None
    text = (
        f"the return, {return_text(history)}, is what it was {steps:,} steps ago: episodes end by themselves "
        f"after {length:.0f} steps, which the value function foresees (explained variance {foreseen:.2g}), "
        f"and the policy is undecided (entropy at {percent(share)} of its maximum)"
    )
    advice = "explores" if facts.explores else "unexplored"
    return Sign(now.mean, text, f"stands-still/{advice}", {"other_seed": facts.settings.seed + 1})


def policy_unchanged(history: History, facts: RunFacts) -> Sign | None:
    """Updates hardly change the policy."""
    if history.agent_steps < facts.share_of_steps(6, 50_000) or not is_like_random(history, facts):
        return None
    kls = [history.median(name, 10) for name, _ in history.policies("train/approx_kl")]
    largest = max((abs(kl) for kl in kls if kl is not None), default=1.0)
    if largest > SMALL_KL or any(share < 0.5 for share in policy_spreads(history, facts)):
        # With a small spread it is stuck rather than slow.
        return None
    rate = history.last("train/learning_rate") or facts.algorithm.learning_rate
    text = f"updates hardly change the policy: KL {largest:.1g} at a learning rate of {rate:.2g}"
    return Sign(largest, text, "policy-unchanged")


def short_sighted(history: History, facts: RunFacts) -> Sign | None:
    """The discount hides what comes later in an episode."""
    length = history.last("rollout/ep_len_mean")
    if length is None or not is_hopeless(history, facts):
        return None
    gamma = facts.algorithm.gamma
    horizon = 1.0 / max(1e-6, 1.0 - gamma)
    if horizon > 20 or horizon > 0.25 * length:
        return None
    text = (
        f"with gamma {gamma:g} only the next {horizon:.2g} steps count, an episode lasts {length:.0f}, "
        f"and the return, {return_text(history)}, is no better than at first"
    )
    return Sign(gamma, text, "short-sighted")


def value_unexplained(history: History, facts: RunFacts) -> Sign | None:
    """The critic predicts nothing, and the policy does not improve, or is limited by chance."""
    if any(share < STUCK for share in policy_spreads(history, facts)):
        # A policy that no longer explores leaves nothing to predict.
        return None
    if is_hopeless(history, facts):
        num_updates, progress = 30, "they do not improve"
    # Against opponents that become stronger the return stays where it is.
    elif _is_left_to_chance(history) and not facts.settings.self_play.is_on:
        num_updates, progress = STALLED_UPDATES, f"they no longer improve ({return_text(history)})"
    else:
        return None
    found = [history.median(name, num_updates) for name, _ in history.policies("train/explained_variance")]
    known = [value for value in found if value is not None]
    if not known or max(known) > 0.05:
        return None
    text = (
        f"the value function cannot predict the returns (explained variance {max(known):.2g} after "
        f"{history.num_updates} updates), and {progress}"
    )
    advice = "remembering" if facts.settings.policy.state_size > 0 else "forgetful"
    return Sign(max(known), text, f"value-unexplained/{advice}")


def _is_left_to_chance(history: History) -> bool:
    """Whether returns got better, stay where they are, and still differ from episode to episode by much."""
    now = history.now
    if now is None or history.agent_steps < LATE_STEPS or not history.has_stayed(STALLED_UPDATES):
        return False
    # In a solved CartPole no value is predicted either: its episodes are alike.
    return now.std > WIDE * abs(now.mean)


def loses_to_past(history: History, facts: RunFacts) -> Sign | None:
    """The newest version is beaten by one of its past versions: it goes in circles."""
    share, version, episodes = (
        history.median(f"rollout/hardest_{name}", 1) for name in ("win_rate", "version", "episodes")
    )
    if share is None or version is None or episodes is None or episodes < MIN_MET:
        return None
    interval = wilson(share, episodes)
    if interval.low is None or interval.high is None or interval.high >= BEATEN:
        return None
    text = (
        f"the newest version wins {percent(share)} of the last {episodes:.0f} episodes against version "
        f"{version:.0f}, an older one (95 % interval {percent(interval.low)} to {percent(interval.high)}): "
        "it forgets how to beat what it did before"
    )
    numbers = {"algorithm": facts.settings.algorithm, "lower_rate": facts.algorithm.learning_rate / 5}
    return Sign(share, text, "loses-to-past", numbers)


def no_improvement(history: History, facts: RunFacts) -> Sign | None:
    """No other finding holds, and yet nothing is learned."""
    now, baseline = history.now, history.baseline
    if now is None or baseline is None or not is_hopeless(history, facts):
        return None
    text = (
        f"after {history.agent_steps:,} steps the return, {return_text(history)}, is no better than at first "
        f"({baseline.mean:.4g})"
    )
    return Sign(now.mean, text, "no-improvement")


def not_above_random(history: History, facts: RunFacts) -> Sign | None:
    """After enough experience for most games, the return is not above random play's."""
    now, random = history.now, history.random
    if now is None or random is None or not facts.is_comparable or not is_late(history, facts):
        return None
    trained = Measured.of(now.mean, now.std, now.count)
    verdict = judge(trained, random, num_agents=facts.game.num_agents)
    return None if verdict.learned is not False else not_above_random_sign(verdict, history.agent_steps)


def not_above_random_sign(verdict: Verdict, agent_steps: int) -> Sign | None:
    """The sign of a verdict; None where something was not measured."""
    trained, random = verdict.trained, verdict.random
    if trained is None or random is None:
        return None
    above = "clearly above" if trained.mean > random.mean else "above"
    text = (
        f"the return, {number_text(trained.mean)}, is not {above} that of random play, "
        f"{number_text(random.mean)}"
    )
    if agent_steps < LATE_STEPS:
        return Sign(trained.mean, text, "not-above-random/short")
    return Sign(trained.mean, text, "not-above-random/long")


def evaluation_differs(history: History, facts: RunFacts) -> Sign | None:
    """Returns in fresh pages differ from those in training."""
    baseline, newest = history.baseline, history.evaluation
    if not facts.has_page or not facts.is_comparable or baseline is None or newest is None:
        return None
    found, training = newest
    gain = training.mean - baseline.mean
    # Deterministic actions score higher by themselves: sampling costs some of the return.
    is_far = abs(found.mean - training.mean) > max(LOST * abs(gain), 2 * training.std, 2 * found.std)
    is_worse = found.mean < training.mean
    if not is_far or not (training.exceeds(found) if is_worse else found.exceeds(training)):
        return None
    if not is_worse and any(share >= LOST for share in policy_spreads(history, facts)):
        return None
    text = (
        f"the mean return is {found.mean:.4g} in evaluations, each episode in a fresh page, and "
        f"{training.mean:.4g} in training: the episodes start differently, most likely because some state "
        "survives the game's own restart"
    )
    return Sign(found.mean, text, "evaluation-differs")


def _slower(kl: float) -> float:
    """A factor on the learning rate under which updates may be of a usual size."""
    return min(0.2, max(0.01, USUAL_KL / max(kl, 1e-9)))
