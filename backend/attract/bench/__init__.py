"""The benchmark: what Attract reaches, each figure beside its bare parts measured in the same run."""
