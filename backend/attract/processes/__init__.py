"""Child processes: start, messages, supervision, end, and the machine's resources for them."""
