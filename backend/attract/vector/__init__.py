"""Games as one vectorised environment, for code that decides for itself (rules I1, I2, I3)."""

from attract.vector.batch import StepBatch
from attract.vector.environment import VectorEnvironment

__all__ = ["StepBatch", "VectorEnvironment"]
