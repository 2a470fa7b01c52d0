"""Environments of games stepped in Node, in the forms of libraries, and episodes stepped again."""
