"""Central inference without I/O: groups of slots, strict alternation, segments (rules I1, I2, I3)."""
