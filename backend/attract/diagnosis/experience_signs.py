"""Signs in what is collected: rewards, ends of episodes, observations, and how fast it comes."""

from attract.diagnosis.history import History
from attract.diagnosis.sign import RunFacts, Sign, are_all_at_limit, is_like_random, is_no_better, percent
from attract.schema.base import HUGE_REWARD
from attract.settings.presets import algorithm_for_few_steps

LONGER_STEP = 8
"""Factor by which the advice lengthens a step."""
RECENT_UPDATES = 20
LONGER_LIMIT = 4
"""Factor by which the advice lengthens the time limit."""
DOMINATING = 300.0
"""Ratio to all other terms together."""
FEW_DECISIONS = 1_000.0
"""Agent steps a second: with more, an algorithm that learns from each of them once is as fast."""
FEW_STEPS = 200_000
"""From there on nothing was compared."""
SLOW_LEARNER_SPEED, SLOW_GAMES_SPEED = 1_500.0, 4_000.0
"""Agent steps a second: on two cores a learner of 20,000 keeps workers waiting as a matter of course."""


def reward_constant(history: History, facts: RunFacts) -> Sign | None:
    """Every step had the same reward, so good and bad actions cannot be distinguished."""
    patience = facts.share_of_steps(8, 50_000)
    if facts.explores:
        # Its intrinsic reward may still lead it to a reward of the game.
        patience = 3 * facts.share_of_steps(4, 250_000)
    if history.agent_steps < patience:
        return None
    reward = history.reward_low
    is_always_cut = history.num_episodes >= 20 and are_all_at_limit(history)
    if reward == history.reward_high:
        text = f"every one of the {history.agent_steps:,} steps so far had the same reward, {reward:g}"
    else:
        # One or two successes by chance are not enough to learn from.
        recent = history.constant_reward(RECENT_UPDATES)
        if recent is None or history.has_improved or not is_like_random(history, facts):
            return None
        reward, is_always_cut = recent, True
        text = f"every step of the last {RECENT_UPDATES} updates had the same reward, {reward:g}"
    if reward != 0 and not is_always_cut:
        # A reward for each step survived is no failure as long as some episodes end sooner than others.
        return None
    if history.num_episodes > 0 and not is_always_cut:
        return Sign(reward, text, "reward-constant/unpaid")
    text += ", and every episode ended at its time limit" if is_always_cut else ""
    numbers = {
        "seconds_per_step": facts.game.seconds_per_step,
        "longer_step": LONGER_STEP * facts.game.seconds_per_step,
    }
    return Sign(reward, text, f"reward-constant/{'explored' if facts.explores else 'unexplored'}", numbers)


def no_episode_ended(history: History, facts: RunFacts) -> Sign | None:
    """There is no return yet, and without an end there will not be one."""
    steps = history.agent_steps
    if history.num_episodes > 0 or steps < facts.share_of_steps(8, 30_000):
        return None
    text = f"no episode has ended in {steps:,} steps"
    if facts.game.max_steps is None:
        text += ", and the game has no time limit"
        return Sign(steps, text, "no-episode-ended/unlimited") if steps >= 200 * history.num_slots else None
    first = facts.game.max_steps * history.num_slots
    if facts.settings.total_steps is not None and first < facts.settings.total_steps:
        # The first ends come within the run: a short run has just enough games for that.
        return None
    num_games = history.num_slots // facts.game.num_agents
    text += f": {num_games} games at once reach their limit of {facts.game.max_steps:,} steps after {first:,}"
    fewer = max(1, num_games * steps // (first * facts.settings.collection.num_workers))
    return Sign(steps, text, "no-episode-ended/limited", {"fewer": fewer})


def reward_size(history: History, facts: RunFacts) -> Sign | None:
    """One reward is so large that all others vanish beside it."""
    usual = history.usual_reward
    largest = max(history.reward_high, -history.reward_low)
    if usual is None or largest <= HUGE_REWARD or largest <= HUGE_REWARD * usual:
        return None
    text = (
        f"the largest reward was {largest:.2g}, a usual one {usual:.2g}: training scales rewards by their "
        "spread, so the others vanish beside the largest"
    )
    return Sign(largest, text, "reward-size")


def time_limit(history: History, facts: RunFacts) -> Sign | None:
    """Every episode ends by its time limit without improvement, or the policy learned to wait for that."""
    now, baseline = history.now, history.baseline
    if history.num_episodes < 50 or not are_all_at_limit(history) or now is None or baseline is None:
        return None
    if not facts.is_comparable or facts.game.max_steps is None:
        return None
    limit = facts.game.max_steps * facts.game.seconds_per_step
    text = f"all {history.num_episodes:,} episodes so far ended at the time limit of {limit:g} s"
    if is_no_better(history, facts):
        text += ", with a return no better than at first"
        numbers = {"limit": limit, "longer_limit": LONGER_LIMIT * limit}
        return Sign(history.num_episodes, text, "time-limit/always", numbers)
    has_only_costs = history.reward_high <= 0 and baseline.mean < 0
    if has_only_costs and history.has_improved and abs(now.mean) < 0.02 * abs(baseline.mean):
        text += f", nothing was ever rewarded, and the return is {now.mean:.3g}: it may do nothing at all"
        return Sign(now.mean, text, "time-limit/idle")
    return None


def term_dominates(history: History, facts: RunFacts) -> Sign | None:
    """One term of the reward outweighs all others."""
    sizes = {name: abs(mean) for name, mean in history.means("reward/").items()}
    if history.num_episodes < 50 or sum(size > 0 for size in sizes.values()) < 2:
        return None
    largest = max(sizes, key=lambda name: sizes[name])
    times = sizes[largest] / (sum(sizes.values()) - sizes[largest])
    if times < DOMINATING:
        return None
    term = largest.removeprefix("reward/")
    text = f"`{term}` dominates the reward: over an episode it is {times:,.0f} times the other terms together"
    return Sign(times, text, "term-dominates", {"term": term})


def observation_constant(history: History, facts: RunFacts) -> Sign | None:
    num_numbers = len(facts.observation_names)
    if history.constants is None or history.constants[1] >= num_numbers:
        return None
    count, place, value = history.constants
    if history.agent_steps < facts.share_of_steps(8, 50_000) or count > max(1, num_numbers // 4):
        return None
    if value == 0 and not is_no_better(history, facts):
        # It may stand for something that has not happened yet.
        return None
    others = f", and so were {count - 1} others" if count > 1 else ""
    steps = f"{history.agent_steps:,} steps"
    text = f"{facts.observation_names[place]} was {value:g} in every one of the {steps} so far{others}"
    return Sign(count, text, "observation-constant")


def few_decisions(history: History, facts: RunFacts) -> Sign | None:
    """The games give so few decisions that an algorithm which learns more from each is worth its time."""
    idle, update = history.median("time/idle_seconds", 10), history.median("time/update_seconds", 10)
    speed = history.speed(10)
    if idle is None or update is None or speed is None or idle < update or speed >= FEW_DECISIONS:
        return None
    if history.agent_steps > FEW_STEPS:
        return None
    algorithm = algorithm_for_few_steps(facts.settings, facts.game.action.kind)
    if algorithm is None:
        return None
    text = f"the games give {speed:,.0f} decisions a second"
    return Sign(speed, text, "few-decisions", {"algorithm": algorithm})


def workers_wait(history: History, facts: RunFacts) -> Sign | None:
    """Updates take so long that the games wait."""
    wait, seconds = history.median("fleet/wait_fraction", 20), history.median("time/update_seconds", 20)
    speed = history.speed(20)
    if wait is None or seconds is None or speed is None or wait < 0.9 or speed > SLOW_LEARNER_SPEED:
        return None
    text = f"workers wait {percent(wait)} of the time for the learner, which takes {seconds:.1f} s an update"
    return Sign(wait, text, "workers-wait", {"fewer_epochs": max(1, facts.algorithm.n_epochs // 4)})


def learner_waits(history: History, facts: RunFacts) -> Sign | None:
    """Experience comes so slowly that the learner waits."""
    idle, update = history.median("time/idle_seconds", 20), history.median("time/update_seconds", 20)
    speed = history.speed(20)
    if idle is None or update is None or speed is None or idle < 5.0 * update or speed > SLOW_GAMES_SPEED:
        return None
    share = idle / (idle + update)
    text = f"the learner waits {percent(share)} of the time for experience, {idle:.1f} s before each update"
    where = "cores" if facts.settings.collection.num_workers < facts.num_cores else "machines"
    return Sign(share, text, f"learner-waits/{where}", {"num_cores": facts.num_cores})
