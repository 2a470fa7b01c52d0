"""Averaging with other learners."""
