"""Trust tiers of workers, by credential."""

from typing import Literal

GrantedTier = Literal["local", "invited"]
"""Tiers that a token can grant: the operator's own fleet, or an invited one."""
LinkTier = Literal["local", "invited", "viewer"]
"""What an invitation grants: a tier of workers, or only to look."""
Tier = Literal["local", "invited", "public"]
"""`public` is for workers without any invitation, which no token grants today."""
