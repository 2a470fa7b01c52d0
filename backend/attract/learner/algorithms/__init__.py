"""The protocol that the learner needs of any algorithm, and parts that algorithms share."""
