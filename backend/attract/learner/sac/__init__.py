"""Soft actor-critic: continuous actions, learned from a replay buffer."""
