"""Child processes: how they are started, spoken to, watched and ended, and what this machine gives them."""
