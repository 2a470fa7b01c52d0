"""The figures of `attract bench`, each beside its bare parts measured in the same run."""
