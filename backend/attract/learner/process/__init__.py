"""The learner's process: its messages, its loop, its machine."""
