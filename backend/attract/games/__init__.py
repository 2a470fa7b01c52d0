"""Game modules: which there are, how they are bundled, and where in them something went wrong."""
