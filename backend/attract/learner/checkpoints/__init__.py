"""What is written of a version, and read again."""
