"""Accepted segments: the store shared by gateway and learner, its checks, and batches."""
