"""Attract: trains an agent to play a browser game, in browsers."""

__version__ = "0.1.0"
