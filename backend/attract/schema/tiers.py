"""How far a worker is trusted, by the credential that it showed."""

from typing import Literal

GrantedTier = Literal["local", "invited"]
"""What a token can grant: a fleet of the operator's own, or one that was invited."""
Tier = Literal["local", "invited", "public"]
"""`public` is for workers without any invitation, which no token grants today."""
