"""What the learner's metrics mean: those of algorithms, of what is wrapped around them, and of averaging."""

from typing import Any, Final

from attract.schema.metrics import MetricInfo


def metric(name: str, group: str, title: str, text: str, **more: Any) -> MetricInfo:
    """A definition; `more` has the optional fields of `MetricInfo`."""
    return MetricInfo(name=name, group=group, title=title, help=text, **more)


LEARNER_METRICS: Final = (
    metric(
        "train/entropy",
        "learning",
        "Entropy",
        "How random the policy's actions are. It starts high and falls as the policy learns which "
        "actions are good. Near zero too early means that it stopped exploring.",
        unit="nats",
    ),
    metric(
        "train/entropy_loss",
        "learning",
        "Entropy loss",
        "The entropy with the opposite sign, as Stable-Baselines3 names it.",
        unit="nats",
        is_shown=False,
    ),
    metric(
        "train/approx_kl",
        "learning",
        "KL divergence",
        "How much one update changed the policy. Usually under 0.05; large jumps mean the learning rate is "
        "too high.",
        unit="nats",
    ),
    metric(
        "train/explained_variance",
        "learning",
        "Explained variance",
        "How well the value function predicts returns: 1 is perfect, 0 is no better than their mean.",
        better="higher",
    ),
    metric(
        "train/policy_gradient_loss",
        "learning",
        "Policy loss",
        "The loss that makes good actions likelier. It stays around zero; only large swings matter.",
    ),
    metric(
        "train/value_loss",
        "learning",
        "Value loss",
        "Error of the predicted return. It often rises while the return rises, then falls.",
    ),
    metric(
        "train/clip_fraction",
        "learning",
        "Clip fraction",
        "Share of steps in which clipping limited the change of the policy. 0.05 to 0.3 is usual.",
        unit="share",
    ),
    metric(
        "train/q_value",
        "learning",
        "Predicted return",
        "Mean value (Q) of the drawn steps, in units of the scaled reward, and of their targets. It rises "
        "with the return. Values that rise while the return does not are too high.",
        unit="reward",
        line="predicted",
    ),
    metric(
        "train/q_target",
        "learning",
        "Target of the return",
        "Mean target of the drawn steps.",
        unit="reward",
        chart="train/q_value",
        line="target",
    ),
    metric(
        "train/discounted_return",
        "learning",
        "Discounted return",
        "Discounted return that followed the steps of the batch, in units of the scaled reward: what the "
        "predicted return should be. An episode that its time limit cuts counts up to there.",
        unit="reward",
        chart="train/q_value",
        line="played",
    ),
    metric(
        "train/epsilon",
        "learning",
        "Epsilon",
        "Actions are as random on average as with this probability of a random action; it falls over the "
        "exploration share of the run.",
        unit="share",
    ),
    metric(
        "train/exploration_bonus",
        "exploration",
        "Intrinsic reward",
        "Mean bonus per step for new observations, in units of the scaled reward. It falls as the game "
        "becomes known, and rises when something new is found.",
        unit="reward",
    ),
    metric(
        "train/exploration_error",
        "exploration",
        "Novelty",
        "Prediction error of a random network on the observations: the intrinsic reward before scaling.",
        is_log=True,
    ),
    metric(
        "train/exploration_explained_variance",
        "exploration",
        "Intrinsic explained variance",
        "How well its own value head predicts intrinsic returns: 1 is perfect, 0 is no better than "
        "their mean.",
        better="higher",
    ),
    metric(
        "train/entropy_share",
        "details",
        "Entropy share",
        "Entropy as a share of its maximum: 1 is random play, 0 always the same action.",
        unit="share",
    ),
    metric(
        "train/action_spread",
        "details",
        "Action spread",
        "Standard deviation of continuous actions as a share of half their range.",
        unit="share",
    ),
    metric(
        "train/loss",
        "details",
        "Loss",
        "Policy loss, value loss and entropy bonus, weighted and summed; or the error of predicted returns.",
    ),
    metric(
        "train/grad_norm",
        "details",
        "Gradient norm",
        "Norm of the gradient before clipping, mean over the minibatches.",
        is_log=True,
    ),
    metric(
        "train/learning_rate",
        "details",
        "Learning rate",
        "Learning rate of this update; it falls if the settings say so.",
    ),
    metric(
        "train/clip_range",
        "details",
        "Clip range",
        "Clip range of this update; it falls if the settings say so.",
    ),
    metric(
        "train/entropy_coef", "details", "Entropy coefficient", "Weight of the entropy in this update's loss."
    ),
    metric(
        "train/reward_divisor",
        "details",
        "Reward scale",
        "Rewards are divided by this before the update learns from them.",
    ),
    metric(
        "train/num_epochs",
        "details",
        "Epochs",
        "Passes over the batch; fewer than set if the KL divergence stopped the update.",
    ),
    metric(
        "train/temperature",
        "details",
        "Temperature",
        "Weight of the entropy beside the predicted return; it changes so that the policy keeps the target "
        "entropy.",
        is_log=True,
    ),
    metric(
        "train/logit_scale",
        "details",
        "Scale of the logits",
        "Advantages are multiplied by this, so that actions are as random as epsilon says.",
        is_log=True,
    ),
    metric(
        "train/replay_ratio",
        "replay",
        "Replay ratio",
        "Gradient steps for each step of the batch; 0 until the buffer has enough steps.",
    ),
    metric(
        "train/replay_share",
        "details",
        "Replay share",
        "Share of the gradient steps that the replay ratio allows which the update took. 1: the games bound "
        "the run. Less, as in async mode: the learner does, and the games do not wait for it.",
        unit="share",
    ),
    metric(
        "train/buffer_steps",
        "replay",
        "Replay buffer",
        "Steps that gradient steps draw from. It grows to `buffer_size`, or until its memory is full.",
        unit="steps",
    ),
    metric(
        "train/buffer_mebibytes",
        "replay",
        "Buffer memory",
        "Memory of the replay buffer, at most `buffer_mebibytes`.",
        unit="MiB",
    ),
    metric("train/num_minibatches", "details", "Minibatches", "Optimizer steps of the update."),
    metric(
        "train/policy_lag_mean",
        "details",
        "Policy lag",
        "Age of the policy that played, in updates: mean and maximum over the batch. 0 in sync mode, at "
        "most 1 in overlap mode.",
        unit="updates",
        better="lower",
        line="mean",
    ),
    metric(
        "train/policy_lag_max",
        "details",
        "Largest policy lag",
        "Age of the oldest policy in the batch.",
        unit="updates",
        better="lower",
        chart="train/policy_lag_mean",
        line="maximum",
    ),
    metric(
        "train/vtrace_rho_mean",
        "details",
        "V-trace ratio",
        "Probability of an action under the newest policy over that under the policy that played; 1 without "
        "lag. Mean and maximum over the batch.",
        line="mean",
    ),
    metric(
        "train/vtrace_rho_max",
        "details",
        "Largest V-trace ratio",
        "Largest of those ratios in the batch.",
        chart="train/vtrace_rho_mean",
        line="maximum",
    ),
    metric(
        "train/vtrace_clipped_fraction",
        "details",
        "Clipped ratios",
        "Share of steps whose V-trace ratio was clipped.",
        unit="share",
    ),
    metric(
        "train/cloning_coef",
        "details",
        "Cloning coefficient",
        "Weight of the demonstrations in this update's loss; it falls to 0 over the set share of the run.",
    ),
    metric(
        "train/cloning_loss",
        "details",
        "Cloning loss",
        "Negative log-probability of the demonstrated actions. It falls while the policy imitates them.",
        unit="nats",
        better="lower",
    ),
    metric(
        "train/cloning_agreement",
        "details",
        "Cloning accuracy",
        "Share of demonstrated steps in which the policy's likeliest action is the demonstrated one.",
        unit="share",
        better="higher",
    ),
    metric(
        "train/cloning_epochs",
        "details",
        "Cloning epochs",
        "Passes over the demonstrations before the first version.",
    ),
    metric(
        "train/cloning_held_out_loss",
        "details",
        "Held-out cloning error",
        "On demonstrations that were not trained on: the share of steps with another likeliest action, "
        "or the loss for continuous actions.",
        better="lower",
    ),
    metric(
        "train/prio_beta",
        "details",
        "Importance exponent",
        "How far importance weights correct for prioritised sampling of segments.",
    ),
    metric(
        "train/prio_effective_segments",
        "details",
        "Effective segments",
        "Effective sample size of the prioritised segments.",
        unit="segments",
    ),
    metric(
        "train/prio_effective_share",
        "details",
        "Effective share",
        "Effective segments as a share of all segments.",
        unit="share",
    ),
    metric(
        "train/prio_weight_max",
        "details",
        "Largest importance weight",
        "The mean weight of the sampled segments is 1.",
    ),
    metric(
        "train/verify_refused_share",
        "details",
        "Refused segments",
        "Share of the batch that recomputation did not confirm.",
        unit="share",
        better="lower",
    ),
    metric(
        "train/verify_refused_difference",
        "details",
        "Largest refused deviation",
        "Largest deviation among the refused segments.",
        is_log=True,
    ),
    metric(
        "train/verify_largest_difference",
        "details",
        "Largest deviation of a worker",
        "Difference between a worker's results and the learner's recomputation, in log-probabilities "
        "and values.",
        better="lower",
        is_log=True,
    ),
    metric(
        "federated/round",
        "federated",
        "Averaging round",
        "Number of times this trainer has averaged its policy with the others.",
    ),
    metric(
        "federated/trainers",
        "federated",
        "Trainers averaged",
        "Trainers whose policies are in the last average; 1: only this one.",
    ),
)
