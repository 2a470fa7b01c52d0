"""One PPO update, from a batch to better weights."""
