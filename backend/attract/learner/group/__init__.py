"""Several trainers of one policy, whose weights are averaged once in a while."""
