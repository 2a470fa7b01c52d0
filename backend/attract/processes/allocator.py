"""Keeps the memory of a minibatch or a frame for the next, where the C library would hand it back."""

import ctypes
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEEP_BYTES = 512 << 20
_LARGEST_HEAP_BLOCK_BYTES = 32 << 20
"""The most glibc accepts on 64 bits; larger blocks are always mapped."""


def keep_freed_memory(keep_bytes: int = _KEEP_BYTES) -> bool:
    """Tell glibc to reuse freed blocks of up to 32 MiB, at most `keep_bytes` in all, and not to unmap them.

    Activations of a megabyte are allocated and freed for every layer of every minibatch; page faults on fresh
    memory cost a fifth of an update. For a process of our own only: the learner's, before its first tensor,
    and the gateway's, through which frames of up to a MiB go.

    Returns: whether it could be done; False where the C library is not glibc.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = bool(mallopt(_M_TRIM_THRESHOLD, keep_bytes))
    return bool(mallopt(_M_MMAP_THRESHOLD, _LARGEST_HEAP_BLOCK_BYTES)) and kept
