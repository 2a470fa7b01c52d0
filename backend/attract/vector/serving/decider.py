"""The policy's versions as ONNX sessions, and actions drawn with the workers' own generator (C5, C9)."""

import math
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from attract.errors import ConfigurationError, PolicyError
from attract.experience.layout import observation_fields
from attract.policy.action_kinds.table import resolve_distribution
from attract.schema.game import GameDescription
from attract.schema.messages import Seed
from attract.schema.philox import action_uniforms
from attract.vector.batch import StepBatch
from attract.vector.serving.segments import Decision

Device = Literal["auto", "cpu", "cuda"]
CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
INSTALL = "pip install onnxruntime-gpu instead of onnxruntime, or use --device cpu"
PASS_BYTES = 256 << 20
"""About what one pass through a policy may take for observations and activations."""
ACTIVATION_SHARE = 16
"""How much more a row's largest activations take than its observation does as float32: IMPALA's first
convolution makes 16 channels of 3, and holds a few such at a time."""


class OnnxDecider:
    """Owned by the inference process; the same graph that workers run, by ONNX Runtime on CPU or CUDA.

    Deterministic for equal batches. Sampling is torch's twin of the worker's (`algorithm.distributions`).
    """

    def __init__(
        self,
        description: GameDescription,
        seed: Seed,
        *,
        state_size: int = 0,
        device: Device = "auto",
        num_threads: int = 1,
    ) -> None:
        """`seed`: the run's; with (slot, episode, step) it names every draw.

        Raises: ConfigurationError: for a device that ONNX Runtime cannot use, or actions of no known kind.
        """
        self._distribution = resolve_distribution(description.action.model_dump(mode="json"))
        self._seed = seed
        self._state_size = state_size
        self._action_type = description.action.action_type
        self._fields = observation_fields(description)
        single = len(self._fields) == 1
        self._input_names = {key: "obs" if single else f"obs_{i}" for i, key in enumerate(self._fields)}
        self._outputs = [*self._distribution.output_names, "value"]
        if state_size:
            self._outputs.append("state_outs")
        self._device: Device = device
        self._providers = _providers(device)
        row_bytes = sum(4 * math.prod(shape) for _, shape in self._fields.values())
        self._rows_at_once = max(1, PASS_BYTES // (ACTIVATION_SHARE * max(1, row_bytes)))
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = num_threads
        self._options.inter_op_num_threads = 1
        self._sessions: dict[int, onnxruntime.InferenceSession] = {}

    def add(self, version: int, onnx: bytes) -> None:
        """Make a version ready: its session exists and has run once.

        Raises:
            PolicyError: when it is no model of this game.
            ConfigurationError: when CUDA was asked for, and ONNX Runtime took the CPU instead.
        """
        if version in self._sessions:
            return
        try:
            session = onnxruntime.InferenceSession(onnx, self._options, providers=self._providers)
            observation = {key: np.zeros((1, *shape), dtype) for key, (dtype, shape) in self._fields.items()}
            self._run(session, observation, np.zeros((1, self._state_size), np.float32))
        except Exception as error:
            raise PolicyError(f"version {version} cannot be run: {error}") from error
        if self._device == "cuda":
            check_cuda(session)
        self._sessions[version] = session

    def keep(self, versions: Collection[int]) -> None:
        """Release all versions but these and the two newest, which the next leases may name."""
        newest = sorted(self._sessions)[-2:]
        for version in [
            session for session in self._sessions if session not in versions and session not in newest
        ]:
            del self._sessions[version]

    def decide(self, version: int, batch: StepBatch, state: NDArray[np.float32]) -> Decision:
        """Actions drawn with the seeded stream (rule C5), log-probabilities, values and the states after.

        Slots that are not active get zeros: no action is drawn for them (rule E9).

        Raises: PolicyError: when the policy gives a number that is not finite.
        """
        outputs, value, state_after = self._run(self._session(version), batch.observation, state)
        uniforms = action_uniforms(
            self._seed, batch.slot_id, batch.episode, batch.episode_step, self._distribution.num_draws
        )
        mask = None if batch.action_mask is None else torch.from_numpy(batch.action_mask)
        with torch.inference_mode():
            logits = torch.from_numpy(outputs)
            action = self._distribution.sample(logits, torch.from_numpy(uniforms), mask)
            log_prob, _ = self._distribution.log_prob_and_entropy(logits, action, mask)
        actions, log_probs = action.numpy().astype(self._action_type, copy=False), log_prob.numpy()
        if not (np.isfinite(log_probs[batch.active]).all() and np.isfinite(value).all()):
            raise PolicyError(f"version {version} of the policy gave a number that is not finite")
        resting = ~batch.active
        if resting.any():
            actions[resting] = 0
            log_probs = np.where(resting, np.float32(0.0), log_probs)
        return Decision(actions, log_probs, value, state_after)

    def values(
        self, version: int, observation: Mapping[str, NDArray[Any]], state: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """[n] values of [n, ...] observations with these states; nothing is advanced."""
        return self._run(self._session(version), observation, state)[1]

    def _session(self, version: int) -> onnxruntime.InferenceSession:
        if version not in self._sessions:
            raise PolicyError(
                "a policy that is not here", expected=f"one of {sorted(self._sessions)}", got=f"{version}"
            )
        return self._sessions[version]

    def _run(
        self,
        session: onnxruntime.InferenceSession,
        observation: Mapping[str, NDArray[Any]],
        state: NDArray[np.float32],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        rows = len(state)
        if rows <= self._rows_at_once:
            return self._run_at_once(session, observation, state)
        passes = [
            self._run_at_once(session, {key: array[part] for key, array in observation.items()}, state[part])
            for part in (slice(at, at + self._rows_at_once) for at in range(0, rows, self._rows_at_once))
        ]
        outputs, values, states = zip(*passes, strict=True)
        return np.concatenate(outputs), np.concatenate(values), np.concatenate(states)

    def _run_at_once(
        self,
        session: onnxruntime.InferenceSession,
        observation: Mapping[str, NDArray[Any]],
        state: NDArray[np.float32],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        feeds: dict[str, Any] = {self._input_names[key]: values for key, values in observation.items()}
        if self._state_size:
            feeds["state_ins"] = state
        got: list[Any] = list(session.run(self._outputs, feeds))
        state_after = got.pop() if self._state_size else state
        value = got.pop()
        return got[0] if len(got) == 1 else np.concatenate(got, axis=1), value, state_after


def check_cuda(session: onnxruntime.InferenceSession) -> None:
    """Whether the session runs on CUDA: ONNX Runtime takes the CPU without a word where its CUDA cannot load.

    Raises: ConfigurationError: when it does not.
    """
    if CUDA not in session.get_providers():
        raise ConfigurationError(
            "ONNX Runtime could not load its CUDA provider and would run on the CPU",
            setting="device",
            fix="install the CUDA and cuDNN that it was built for, or use --device cpu",
        )


def _providers(device: Device) -> list[str | tuple[str, dict[str, str]]]:
    available: list[str] = onnxruntime.get_available_providers()
    if device == "cuda" and CUDA not in available:
        raise ConfigurationError("this ONNX Runtime has no CUDA provider", setting="device", fix=INSTALL)
    use_cuda = device != "cpu" and CUDA in available
    # With TensorFloat-32, its default, outputs miss the learner's by more than rules C7 and C9 allow.
    return [(CUDA, {"use_tf32": "0"}), CPU] if use_cuda else [CPU]
