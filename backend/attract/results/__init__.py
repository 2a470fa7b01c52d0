"""The table of what training gives: which runs it takes, a rival's, their record, and how it reads."""
