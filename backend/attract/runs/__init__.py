"""What a run leaves on disk: its directory, metrics, events, logs.

The learner writes checkpoints and its own log, the gateway all else.
"""
