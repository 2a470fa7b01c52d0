"""The learner: its process, the update, checkpoints, and averaging with peers."""
