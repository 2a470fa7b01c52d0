"""A demonstration: one recorded episode of a player, as seed and actions."""

from typing import Literal

from attract.schema.api import DemonstratedEpisode
from attract.schema.base import Count, Name, Text


class Demonstration(DemonstratedEpisode):
    """One played episode as it is kept."""

    version: Literal[1] = 1
    id: Name
    num_steps: Count
    created_at: Text
    player: Text = "human"
