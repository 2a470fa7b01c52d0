"""Unpacks the packed pictures of a block, so that no code behind the socket needs to know of the packing."""

import math
import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attract.experience.layout import StoreLayout
from attract.schema.frames import malformed, shown
from attract.schema.messages import Block, Tensor
from attract.schema.step_numbers import CONTINUES, REPEATS, WHOLE, PackedPictures, PackedStacks
from attract.schema.tensor import from_numpy, to_numpy

Pictures = NDArray[np.uint8]


def claimed_bytes(block: Block) -> int:
    """Unpacked size in bytes of a block's packed observations, if its shapes are right; 0 for none.

    For code that limits what a socket may cause: `BlockUnpacker` refuses other shapes.
    """
    finals = {} if block.final_observations is None else block.final_observations.observation
    claimed = 0
    for key, packed in block.packed.items():
        parts = (block.observation, block.bootstrap_observation, finals)
        size = sum(math.prod(tensors[key].shape) for tensors in parts if key in tensors)
        newest = block.observation[key].shape[-1:] if key in block.observation else []
        if packed.stacks is not None and newest and newest[0]:
            size = size * (newest[0] + sum(packed.stacks.older.shape[-1:])) // newest[0]
        claimed += size
    return claimed


class BlockUnpacker:
    """Unpacks the blocks of one run; owned by the receiver of its messages, used on the event loop."""

    def __init__(self, layout: StoreLayout, picture_stacks: Mapping[str, int], max_bytes: int) -> None:
        """Limits for the unpacked blocks of a run.

        Args:
            layout: of the run's store.
            picture_stacks: of the game's description: how many pictures each stack has.
            max_bytes: most that the packed observations of one block may be unpacked to: that of a frame.
                Then a packed block takes no more memory than one that is not packed.
        """
        self._layout = layout
        self._stacks = picture_stacks
        self._max_bytes = max_bytes

    def unpack(self, block: Block) -> Block:
        """The block as if it had been sent with nothing packed; `block` itself if it was.

        What is not packed is not looked at: `check_block` follows.

        Raises: ProtocolError: naming the field, what came and what would be right. Sizes are checked before
            anything of that size is made, and no more than is right is ever inflated.
        """
        if not block.packed:
            return block
        finals = block.final_observations
        num_slots = _rows(block.slot_id, "block.slot_id")
        num_finals = 0 if finals is None else _rows(finals.step, "block.final_observations.step")
        self._check_keys(block)
        self._check_size(block, num_slots, num_finals)
        observation, bootstrap = dict(block.observation), dict(block.bootstrap_observation)
        final = {} if finals is None else dict(finals.observation)
        for key, packed in block.packed.items():
            shape = self._layout.field(f"obs.{key}").shape
            depth = 1 if packed.stacks is None else self._stacks[key]
            sent = (*shape[:-1], shape[-1] // depth)
            steps = _pictures(
                observation[key], f"observation.{key}", (self._layout.horizon, num_slots, *sent), packed
            )
            after = _pictures(bootstrap[key], f"bootstrap_observation.{key}", (num_slots, *sent), packed)
            before_reset = np.empty((0, *sent), np.uint8)
            if finals is not None:
                name = f"final_observations.observation.{key}"
                before_reset = _pictures(final[key], name, (num_finals, *sent), packed)
            if packed.stacks is not None:
                places = _final_places(block, steps.shape[:2], num_finals)
                rebuild = _Rebuilding(packed.stacks, key, steps.shape[:2], num_finals)
                older = _pictures(
                    packed.stacks.older,
                    f"packed.{key}.stacks.older",
                    (rebuild.num_whole, *shape[:-1], shape[-1] - sent[-1]),
                    packed,
                )
                steps, after, before_reset = rebuild(steps, after, before_reset, places, older)
            observation[key], bootstrap[key] = from_numpy(steps), from_numpy(after)
            final[key] = from_numpy(before_reset)
        changes: dict[str, object] = {
            "packed": {},
            "observation": observation,
            "bootstrap_observation": bootstrap,
        }
        if finals is not None:
            changes["final_observations"] = finals.model_copy(update={"observation": final})
        return block.model_copy(update=changes)

    def _check_keys(self, block: Block) -> None:
        finals = block.final_observations
        for key, packed in block.packed.items():
            if key not in self._layout.observation_keys:
                raise malformed(
                    f"block.packed: key {shown(key)}", fix=f"keys are {list(self._layout.observation_keys)}"
                )
            stored = self._layout.field(f"obs.{key}")
            if stored.dtype != "uint8" or len(stored.shape) != 3:
                raise malformed(
                    f"block.packed.{key}: {stored.dtype} of shape {list(stored.shape)}",
                    fix="only pictures are packed: uint8 of shape [rows, columns, channels]",
                )
            if packed.stacks is not None and key not in self._stacks:
                raise malformed(
                    f"block.packed.{key}.stacks: present",
                    fix=f"the game's description has `picture_stacks` {dict(self._stacks)}",
                )
            for name, tensors in (
                ("observation", block.observation),
                ("bootstrap_observation", block.bootstrap_observation),
                ("final_observations.observation", None if finals is None else finals.observation),
            ):
                if tensors is not None and key not in tensors:
                    raise malformed(f"block.{name}: no {key}", fix="include every key of block.packed")

    def _check_size(self, block: Block, num_slots: int, num_finals: int) -> None:
        rows = (self._layout.horizon + 1) * num_slots + num_finals
        size = sum(rows * math.prod(self._layout.field(f"obs.{key}").shape) for key in block.packed)
        if size > self._max_bytes:
            raise malformed(
                f"block.packed: {size} bytes of {rows} observations",
                fix=f"unpacked they have at most {self._max_bytes} bytes, as a frame: send fewer slots",
            )


class _Rebuilding:
    """Stacks of pictures from their newest ones; `num_whole` have their older ones beside them."""

    def __init__(self, stacks: PackedStacks, key: str, steps: tuple[int, ...], num_finals: int) -> None:
        name = f"block.packed.{key}.stacks"
        self._step = to_numpy(stacks.step, f"{name}.step", "uint8", steps)
        self._bootstrap = to_numpy(stacks.bootstrap, f"{name}.bootstrap", "uint8", steps[1:])
        self._final = to_numpy(stacks.final, f"{name}.final", "uint8", (num_finals,))
        self.num_whole = 0
        for part, kinds in (("step", self._step), ("bootstrap", self._bootstrap), ("final", self._final)):
            if kinds.size and int(kinds.max()) > WHOLE:
                raise malformed(f"{name}.{part}: {int(kinds.max())}", fix=f"kinds are 0 to {WHOLE}")
            self.num_whole += int(np.count_nonzero(kinds == WHOLE))
        if bool((self._step[0] == CONTINUES).any()):
            raise malformed(
                f"{name}.step: a stack of step 0 continues the one before",
                fix=f"what is before a segment is not sent: {REPEATS} or {WHOLE}",
            )

    def __call__(
        self,
        steps: Pictures,
        after: Pictures,
        before_reset: Pictures,
        places: tuple[NDArray[np.int32], NDArray[np.int32]],
        older: Pictures,
    ) -> tuple[Pictures, Pictures, Pictures]:
        """The three as whole stacks; `places` are step and column of each `before_reset`."""
        channels = older.shape[-1] + steps.shape[-1]
        whole = np.empty((*steps.shape[:-1], channels), np.uint8)
        at = 0
        for step, kinds in enumerate(self._step):
            before = whole[step - 1] if step else None
            at = _rebuild(whole[step], before, steps[step], kinds, older, at)
        whole_after = np.empty((*after.shape[:-1], channels), np.uint8)
        at = _rebuild(whole_after, whole[-1], after, self._bootstrap, older, at)
        whole_before_reset = np.empty((*before_reset.shape[:-1], channels), np.uint8)
        _rebuild(whole_before_reset, whole[places], before_reset, self._final, older, at)
        return whole, whole_after, whole_before_reset


def _rebuild(
    target: Pictures, before: Pictures | None, newest: Pictures, kinds: Pictures, older: Pictures, at: int
) -> int:
    """Fill `target` [n, rows, columns, channels], which is contiguous.

    Returns: where `older` goes on after this part, which began at `at`.
    """
    channels = newest.shape[-1]
    if before is not None:
        # Every picture one place on, in one copy: what crosses to the pixel before is where its newest goes.
        target.reshape(-1)[:-channels] = before.reshape(-1)[channels:]
    target[..., -channels:] = newest
    for row in np.flatnonzero(kinds).tolist():
        if kinds[row] == REPEATS:
            target[row] = np.tile(newest[row], target.shape[-1] // channels)
        else:
            target[row, ..., :-channels] = older[at]
            at += 1
    return at


def _pictures(tensor: Tensor, name: str, shape: tuple[int, ...], packed: PackedPictures) -> Pictures:
    """A tensor of a block, inflated where it is deflated. Raises: ProtocolError."""
    name = f"block.{name}"
    if packed.deflated:
        if tensor.shape != list(shape):
            raise malformed(f"{name}: shape {tensor.shape}", fix=f"shape must be {list(shape)}")
        tensor = tensor.model_copy(update={"data": _inflated(tensor.data, name, math.prod(shape))})
    return to_numpy(tensor, name, "uint8", shape)


def _inflated(data: bytes, name: str, num_bytes: int) -> bytes:
    """Raises: ProtocolError: unless it is one raw stream of `num_bytes` bytes; inflates at most one more."""
    if not num_bytes:
        return data
    inflater = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        found = inflater.decompress(data, num_bytes + 1)
    except zlib.error as error:
        raise malformed(
            f"{name}: {len(data)} bytes that cannot be inflated: {error}", fix="raw deflate (RFC 1951)"
        ) from None
    if len(found) != num_bytes or not inflater.eof or inflater.unused_data:
        much = "more than that" if len(found) > num_bytes else f"{len(found)} bytes, and no clean end"
        raise malformed(f"{name}: inflates to {much}", fix=f"one stream of exactly {num_bytes} bytes")
    return found


def _rows(tensor: Tensor, name: str) -> int:
    if len(tensor.shape) != 1:
        raise malformed(f"{name}: shape {tensor.shape}", fix="shape must be [k]")
    return tensor.shape[0]


def _final_places(
    block: Block, steps: tuple[int, ...], num_finals: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Step and column of each final observation. Raises: ProtocolError: for one outside of the block."""
    finals = block.final_observations
    if finals is None:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    found = [
        to_numpy(tensor, f"block.final_observations.{name}", "int32", (num_finals,))
        for name, tensor in (("step", finals.step), ("column", finals.column))
    ]
    for places, extent, name in zip(found, steps, ("step", "column"), strict=True):
        if places.size and not (int(places.min()) >= 0 and int(places.max()) < extent):
            raise malformed(
                f"block.final_observations.{name}: {int(places.min())} to {int(places.max())}",
                fix=f"{name}s are 0 to {extent - 1}",
            )
    return found[0], found[1]
