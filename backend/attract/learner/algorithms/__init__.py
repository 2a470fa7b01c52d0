"""What the learner needs of any algorithm, and what algorithms are made of."""
