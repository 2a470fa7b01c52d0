"""The network that fits a game: encoders, an optional recurrent core, trunks and heads."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from attract.algorithm.distributions import ActionDistribution
from attract.algorithm.normalisation import RunningMoments
from attract.policy.action_kinds.multi_binary import Bernoulli
from attract.policy.action_kinds.table import resolve_distribution
from attract.policy.convolution import create_cnn
from attract.policy.dense import (
    HIDDEN_GAIN,
    POLICY_HEAD_GAIN,
    VALUE_HEAD_GAIN,
    BinsLayer,
    ReluLayer,
    TanhLayer,
    initialise,
)
from attract.policy.observation_inputs import (
    ObservationNormaliser,
    Observations,
    Preprocessed,
    observation_inputs,
)
from attract.policy.recurrent import RecurrentCore, create_core
from attract.policy.set_encoder import SetEncoder
from attract.schema.game import GameDescription
from attract.schema.spaces import ObservationSpace
from attract.settings.run import Activation, PolicySettings

LARGEST_LOG_STD = 1.0
"""Maximum for box actions, in units of half their range: with it seven of ten draws are clipped."""
LOG_STD = "log_std"
"""The last output of a distribution of real numbers: parameters that no observation changes."""


class Policy(nn.Module):
    """Action outputs and value from observations; owned by one thread.

    Entries are encoded each by itself (images by a CNN, sets by a `SetEncoder`, the rest as vectors) and
    joined; a recurrent core, if any, follows; then one trunk for both heads or one each. Bins of each
    choice's return, if any, read one trunk, and both heads read them. The Gaussian's log standard deviations
    are parameters that no observation changes.

    Args:
        observation: of the game.
        distribution: of the game's actions.
        settings: which network.
        normalize_observations: put an `ObservationNormaliser` before each float32 entry (rule P7).
        generator: draws the initial weights; the same seed gives the same weights.
        num_bins: of the return of each choice, below the heads; 0: the heads are on the trunks.
    """

    def __init__(
        self,
        observation: ObservationSpace,
        distribution: ActionDistribution,
        settings: PolicySettings,
        *,
        normalize_observations: bool,
        generator: torch.Generator,
        num_bins: int = 0,
    ) -> None:
        super().__init__()
        self.entries = observation_inputs(observation)
        self.num_outputs = distribution.num_outputs
        self.output_names = distribution.output_names
        self.output_sizes = distribution.output_sizes
        self.state_size = settings.state_size
        # Plain dictionaries beside the registered modules: a module's name may not hold every key.
        self._normalisers: dict[str, ObservationNormaliser] = {}
        self._encoders: dict[str, nn.Module] = {}
        num_features = 0
        for entry in self.entries:
            if normalize_observations and entry.dtype.is_floating_point:
                self._normalisers[entry.key] = ObservationNormaliser(entry.statistics_shape)
                self.add_module(f"normaliser{entry.suffix}", self._normalisers[entry.key])
            if entry.kind in ("image", "set"):
                encoder = (
                    SetEncoder(entry.shape, generator)
                    if entry.kind == "set"
                    else create_cnn(settings.cnn, entry.shape, generator)
                )
                self._encoders[entry.key] = encoder
                self.add_module(f"encoder{entry.suffix}", encoder)
                num_features += encoder.num_features
            else:
                num_features += entry.num_features
        self.core: RecurrentCore | None = None
        if settings.recurrent != "none":
            self.core = create_core(settings.recurrent, num_features, settings.recurrent_size, generator)
            num_features = self.core.size
        num_spreads = self.output_sizes[-1] if self.output_names[-1] == LOG_STD else 0
        is_shared = settings.shared_trunk or num_bins > 0
        is_plain = not self._encoders and num_spreads == 0
        activation = settings.activation_for(is_plain=is_plain, shares_trunk=is_shared)
        self.trunk = _trunk(num_features, settings.hidden_sizes, activation, generator)
        self.value_trunk: nn.Sequential | None = None
        if not is_shared:
            activation = settings.activation or "tanh"
            self.value_trunk = _trunk(num_features, settings.hidden_sizes, activation, generator)
        num_features = settings.hidden_sizes[-1] if settings.hidden_sizes else num_features
        num_rows = self.num_outputs - num_spreads
        self.bins: BinsLayer | None = None
        if num_bins:
            num_choices = 2 * num_rows if isinstance(distribution, Bernoulli) else num_rows
            self.bins = BinsLayer(num_features, num_choices, num_bins)
            num_features = num_choices * num_bins
        self.policy_head = initialise(nn.Linear(num_features, num_rows), POLICY_HEAD_GAIN, generator)
        self.value_head = initialise(nn.Linear(num_features, 1), VALUE_HEAD_GAIN, generator)
        initial = settings.log_std_for(is_mixed="logits" in self.output_names)
        self.action_log_std = nn.Parameter(torch.full((num_spreads,), initial)) if num_spreads else None
        self._largest_log_std = max(initial, LARGEST_LOG_STD)

    @property
    def normalisers(self) -> Mapping[str, ObservationNormaliser]:
        """By entry key; float32 entries only, empty when observations are not normalised."""
        return self._normalisers

    @property
    def encoders(self) -> Mapping[str, nn.Module]:
        """By entry key; of images and sets only."""
        return self._encoders

    @property
    def sees_pictures(self) -> bool:
        return any(entry.kind == "image" for entry in self.entries)

    def moments(self, observations: Observations, valid: Tensor) -> dict[str, RunningMoments]:
        """Moments of each entry that is normalised, keys as `normalisers` has them; see `Entry.moments`."""
        return {
            entry.key: entry.moments(observations[entry.key], valid)
            for entry in self.entries
            if entry.key in self._normalisers
        }

    def set_statistics(self, moments: Mapping[str, RunningMoments]) -> None:
        """Normalise by these from now on; keys as `normalisers` has them; what is empty changes nothing."""
        for key, own in moments.items():
            if own.count > 0:
                self._normalisers[key].set_statistics(own.mean, own.inverse_std)

    @torch.no_grad()
    def limit_spread(self) -> None:
        """Limit the spread of actions after a step of the optimizer, so that few are clipped (P13)."""
        if self.action_log_std is not None:
            self.action_log_std.clamp_(max=self._largest_log_std)

    def forward(self, observations: Observations) -> tuple[Tensor, Tensor]:
        """[N, num_outputs] action outputs and [N] value from raw observations; feed-forward only."""
        return self.forward_preprocessed(self.preprocess(observations))

    def preprocess(self, observations: Observations) -> Preprocessed:
        """The part without weights: floats normalised, vectors flat, leading dimensions kept.

        Statistics stay fixed during an update, so the learner does this once, not once per epoch. Bytes and
        integers stay as they are until `forward_preprocessed`: as floats they take four times the memory.
        """
        preprocessed: dict[str, Tensor] = {}
        for entry in self.entries:
            array = observations[entry.key]
            normaliser = self._normalisers.get(entry.key)
            if normaliser is not None:
                array = normaliser(array)
            if entry.kind == "vector" and entry.num_dimensions != 1:
                leading = array.shape[: array.dim() - entry.num_dimensions]
                array = array.reshape(*leading, entry.num_features)
            preprocessed[entry.key] = array
        return preprocessed

    def forward_preprocessed(self, preprocessed: Preprocessed) -> tuple[Tensor, Tensor]:
        """[N, num_outputs] action outputs and [N] value of a feed-forward policy.

        Raises: RuntimeError: when the policy is recurrent.
        """
        if self.core is not None:
            raise RuntimeError("expected a feed-forward policy, got a recurrent one: use unroll or step")
        return self._heads(self.features(preprocessed))

    def step(self, preprocessed: Preprocessed, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One decision as the ONNX graph takes it: [N, num_outputs], [N], and [N, state_size] after it."""
        features = self.features(preprocessed)
        if self.core is not None:
            state = self.core.cell(self.core.inputs(features), state)
            features = state[:, : self.core.size]
        return *self._heads(features), state

    def unroll(
        self, preprocessed: Preprocessed, state: Tensor, reset_after: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Decisions along whole segments (rules S3, S4); a feed-forward policy's ignore the state.

        Args:
            preprocessed: [T, S, ...] each; finite even where a step is invalid, or gradients are not.
            state: [S, state_size] float32, at the first step.
            reset_after: [T, S] bool, terminated | truncated | not valid.

        Returns: [T, S, num_outputs] outputs, [T, S] values and [T, S, state_size] states after each step,
            before zeroing.
        """
        horizon, segments = reset_after.shape
        features = self.features({key: array.flatten(0, 1) for key, array in preprocessed.items()})
        states = state.expand(horizon, *state.shape)
        if self.core is not None:
            states = self.core.unroll(features.view(horizon, segments, -1), state, reset_after)
            features = states[..., : self.core.size].flatten(0, 1)
        outputs, values = self._heads(features)
        return outputs.view(horizon, segments, -1), values.view(horizon, segments), states

    def values_at(self, preprocessed: Preprocessed, state: Tensor) -> Tensor:
        """[N] values of observations read with the given states, which are not advanced (rule E4)."""
        return self.step(preprocessed, state)[1]

    def features(self, preprocessed: Preprocessed) -> Tensor:
        """[N, num_features], what a core or the trunks take in: the encoded entries, joined."""
        parts: list[Tensor] = []
        for entry in self.entries:
            encoded = entry.encode(preprocessed[entry.key])
            encoder = self._encoders.get(entry.key)
            parts.append(encoded if encoder is None else encoder(encoded))
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _heads(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(inputs)
        value_features = features if self.value_trunk is None else self.value_trunk(inputs)
        if self.bins is not None:
            features = value_features = self.bins(features)
        outputs = self.policy_head(features)
        if self.action_log_std is not None:
            outputs = torch.cat((outputs, self.action_log_std.expand(len(outputs), -1)), 1)
        return outputs, self.value_head(value_features).squeeze(-1)


def build_policy(
    settings: PolicySettings,
    game: GameDescription,
    *,
    normalize_observations: bool = True,
    num_bins: int = 0,
    seed: int = 0,
) -> Policy:
    """A new network for the game, on the CPU; the same seed gives the same weights.

    Raises: ConfigurationError: for an action space that cannot be trained.
    """
    return Policy(
        game.observation,
        build_distribution(game),
        settings,
        normalize_observations=normalize_observations,
        generator=torch.Generator().manual_seed(seed),
        num_bins=num_bins,
    )


def build_distribution(game: GameDescription) -> ActionDistribution:
    """The action distribution of the game.

    Raises: ConfigurationError: for an action space that cannot be trained.
    """
    return resolve_distribution(game.action.model_dump(mode="json"))


def _trunk(
    num_inputs: int, sizes: Sequence[int], activation: Activation, generator: torch.Generator
) -> nn.Sequential:
    kind = TanhLayer if activation == "tanh" else ReluLayer
    layers: list[nn.Module] = []
    for size in sizes:
        layers.append(initialise(kind(num_inputs, size), HIDDEN_GAIN, generator))
        num_inputs = size
    return nn.Sequential(*layers)
