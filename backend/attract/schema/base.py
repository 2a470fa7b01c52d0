"""The base of everything that crosses a process boundary: immutable, closed, described."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

GrantedTier = Literal["local", "invited"]
"""Tiers that a token can grant: the operator's own fleet, or an invited one."""
LinkTier = Literal["local", "invited", "viewer"]
"""What an invitation grants: a tier of workers, or only to look."""
Tier = Literal["local", "invited", "public"]
"""`public` is for workers without any invitation, which no token grants today."""


class WireModel(BaseModel):
    """Immutable record; unknown keys are refused, defaults are always written out."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="constants",
    )


class FiniteModel(WireModel):
    """A record without NaN and infinities; base of all messages from and to browsers."""

    model_config = ConfigDict(allow_inf_nan=False)


WireBytes = Annotated[bytes, WithJsonSchema({"tsType": "Uint8Array"})]
"""Raw bytes: MessagePack `bin`, `Uint8Array` in TypeScript; not checked by the JSON validators."""

MAX_AGENTS: Final = 256
"""Agents per game; a lease has a seat for each."""
MAX_AMOUNT: Final = 1e30
HUGE_REWARD: Final = 1e9
"""A reward above this, and above this many times the usual size, makes the others negligible."""
Amount = Annotated[float, Field(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
"""A number from a worker: sums, squares and means of very many stay finite."""
Seconds = Annotated[float, Field(ge=0, le=1e9)]
UInt32 = Annotated[int, Field(ge=0, le=2**32 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
UncheckedCount = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**53 - 1})]
"""A `Count` of a long list: its reader checks at once that none is negative, at a third of the price."""
Name = Annotated[str, Field(min_length=1, max_length=120)]
Text = Annotated[str, Field(max_length=20_000)]


class Seed(FiniteModel):
    """64 bits, as the two words of a Philox key (rule C5)."""

    low: UInt32
    high: UInt32
