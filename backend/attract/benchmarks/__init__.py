"""How fast Attract is, beside its bare parts and other trainers, and what training reaches."""
