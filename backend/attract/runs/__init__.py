"""What a run leaves on disk: its directory, metrics and events. Only the gateway writes here."""
