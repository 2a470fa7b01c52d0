"""One PPO update, the training loop, checkpoints, and the process they run in."""
