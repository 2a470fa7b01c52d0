"""Lessons, randomised parameters, and callbacks due after episodes or steps. Does no I/O."""
