"""What algorithms that learn from a replay buffer share: the buffer, and the order of an update."""
