"""Observation and action spaces as data."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from attract.schema.base import FiniteModel

Dimension = Annotated[int, Field(ge=1, le=1 << 20)]
Bound = float | list[float] | None


class BoxSpace(FiniteModel):
    """Array of `shape`; a bound of None is unbounded, a list has one number per element."""

    kind: Literal["box"] = "box"
    dtype: Literal["float32", "uint8"] = "float32"
    shape: Annotated[list[Dimension], Field(max_length=4)]
    low: Bound = None
    high: Bound = None

    @property
    def size(self) -> int:
        """Number of elements."""
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    @model_validator(mode="after")
    def _bounds_fit(self) -> Self:
        for name, bound in (("low", self.low), ("high", self.high)):
            if isinstance(bound, list) and len(bound) != self.size:
                raise ValueError(f"{name} has {len(bound)} numbers, shape {self.shape} needs {self.size}")
        return self


class DiscreteSpace(FiniteModel):
    """One integer in [0, n)."""

    kind: Literal["discrete"] = "discrete"
    n: Annotated[int, Field(ge=1, le=1 << 16)]
    labels: list[str] | None = None

    @model_validator(mode="after")
    def _labels_fit(self) -> Self:
        if self.labels is not None and len(self.labels) != self.n:
            raise ValueError(f"{len(self.labels)} labels for {self.n} actions")
        return self


class MultiDiscreteSpace(FiniteModel):
    """One integer in [0, nvec[i]) per component."""

    kind: Literal["multi_discrete"] = "multi_discrete"
    nvec: Annotated[list[Dimension], Field(min_length=1, max_length=256)]


class MultiBinarySpace(FiniteModel):
    """n independent bits."""

    kind: Literal["multi_binary"] = "multi_binary"
    n: Annotated[int, Field(ge=1, le=1024)]


LeafSpace = Annotated[
    BoxSpace | DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace, Field(discriminator="kind")
]


class DictSpace(FiniteModel):
    """Named boxes or discretes; on the wire its keys are sorted."""

    kind: Literal["dict"] = "dict"
    spaces: Annotated[
        dict[str, BoxSpace | DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace], Field(min_length=1)
    ]


ObservationSpace = Annotated[BoxSpace | DictSpace, Field(discriminator="kind")]
ActionSpace = Annotated[
    DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace | BoxSpace, Field(discriminator="kind")
]
