"""Quantile regression DQN: a replay buffer, and gradient steps on steps that are drawn from it."""
