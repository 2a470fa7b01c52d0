"""The policies of a run in training: their state, and one update of all of them."""
