"""Batches of random numbers with all their flags, and one PPO update of a small policy on them."""

import dataclasses

import torch

from attract.experience.batch import Batch
from attract.learner.ppo.estimates import Estimator
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer, ppo_update
from attract.policy.action_kinds.discrete import Categorical
from attract.schema.spaces import BoxSpace
from attract.settings.run import PpoSettings
from policies import create_policy

DISTRIBUTION = Categorical(3)
RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.01)
SETTINGS = PpoSettings(n_epochs=3, num_minibatches=4)


def build(*, normalize=True, dtype="float32", **settings):
    observation = BoxSpace(shape=[4], dtype=dtype)
    return create_policy(observation, hidden_sizes=(16, 16), normalize=normalize, **settings)


def make_batch(*, horizon=8, slots=6, invalid=0.0, seed=0, dtype="float32"):
    """Random play: flags, values and log-probabilities as a fresh policy would have them."""
    generator = torch.Generator().manual_seed(seed)
    shape = (horizon, slots)

    def random(*extra):
        return torch.randn(*shape, *extra, generator=generator)

    observations = random(4)
    if dtype == "uint8":
        observations = torch.randint(0, 256, (*shape, 4), generator=generator, dtype=torch.uint8)
    actions = torch.randint(0, 3, shape, generator=generator)
    with torch.no_grad():
        logits, values = build(dtype=dtype)({"obs": observations.flatten(0, 1)})
        log_probs = DISTRIBUTION.log_prob_and_entropy(logits, actions.flatten())[0]
    return Batch(
        observation={"obs": observations},
        action=actions,
        log_prob=log_probs.view(shape),
        value=values.view(shape),
        reward=random(),
        terminated=torch.rand(shape, generator=generator) < 0.1,
        truncated=torch.rand(shape, generator=generator) < 0.1,
        valid=torch.rand(shape, generator=generator) >= invalid,
        final_value=random(),
        bootstrap_value=torch.randn(slots, generator=generator),
        slot_id=torch.arange(slots),
        first_step=torch.zeros(slots, dtype=torch.int64),
        policy_version=torch.zeros(slots, dtype=torch.int64),
        worker_id=torch.zeros(slots, dtype=torch.int64),
    )


def advantages_and_targets(batch, settings=SETTINGS):
    estimates = Estimator(build(), DISTRIBUTION, batch, settings).estimate()
    return estimates.advantages, estimates.value_targets


def update(
    policy,
    batch,
    settings=SETTINGS,
    *,
    rates=RATES,
    seed=0,
    optimizer=None,
    on_minibatch=None,
    distribution=DISTRIBUTION,
    min_deviation=0.0,
):
    optimizer = optimizer or create_optimizer(policy, rates.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    return ppo_update(
        policy,
        optimizer,
        batch,
        settings,
        generator,
        distribution=distribution,
        rates=rates,
        min_deviation=min_deviation,
        on_minibatch=on_minibatch,
    )


def tensors_of(batch):
    fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return batch.observation | {name: value for name, value in fields.items() if torch.is_tensor(value)}


def weights_of(policy):
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def assert_same(policy, weights):
    for name, tensor in policy.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def recorded(policy):
    """The prepared observations of every minibatch, as the network sees them."""
    seen = []
    original = policy.features
    policy.features = lambda prepared: (seen.append(prepared["obs"].clone()), original(prepared))[1]
    return seen


def numbered(*, horizon, slots, invalid=None):
    """A batch whose observation at step t of slot s is 1000 s + t, in its first component."""
    batch = make_batch(horizon=horizon, slots=slots)
    steps = 1000.0 * torch.arange(slots) + torch.arange(horizon).unsqueeze(1)
    observations = torch.stack((steps, *[torch.zeros(horizon, slots)] * 3), -1)
    valid = torch.ones((horizon, slots), dtype=torch.bool)
    for t, s in invalid or []:
        valid[t, s] = False
    return dataclasses.replace(batch, observation={"obs": observations}, valid=valid)
