"""float32 with all of its digits, where numbers of two machines are compared."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_depth = 0
_before = (False, False)


@contextmanager
def full_precision() -> Generator[None]:
    """No TensorFloat-32 inside: its 10 bits of mantissa miss by 1e-3 what rules C7 and C9 compare to 1e-5.

    cuDNN's convolutions use it by default. Also a decorator. The switch is the process's: while any
    thread is inside, all compute so; who trains beside it is slower for that long. Nothing changes on a CPU.
    """
    global _depth, _before
    with _lock:
        if _depth == 0:
            _before = (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)
            torch.backends.cudnn.allow_tf32 = False
            torch.backends.cuda.matmul.allow_tf32 = False
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = _before
