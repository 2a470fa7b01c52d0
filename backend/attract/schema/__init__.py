"""Wire messages, tensors, spaces and the game description: the source of truth for both languages."""

PROTOCOL_VERSION = 5
CONTRACT_VERSION = 1
