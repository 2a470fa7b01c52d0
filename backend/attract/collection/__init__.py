"""The collection core: who plays what, which segments count, when a batch is full; without I/O or clock."""
