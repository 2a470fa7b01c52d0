"""Trust tiers of workers, by credential."""

from typing import Literal

GrantedTier = Literal["local", "invited"]
"""Tiers that a token can grant: the operator's own fleet, or an invited one."""
Tier = Literal["local", "invited", "public"]
"""`public` is for workers without any invitation, which no token grants today."""
