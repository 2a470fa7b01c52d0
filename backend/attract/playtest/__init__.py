"""Plays every build of a game by a crowd of players and judges what they saw (`attract ci`)."""
