"""What pays for the unseen, around any algorithm."""
