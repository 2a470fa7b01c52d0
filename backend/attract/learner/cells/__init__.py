"""Learners of several machines that make each update together, as one would of all their rows."""
