"""The tables of `attract results`: which runs they take, their record, and how they read."""
