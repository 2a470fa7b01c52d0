"""Wire messages, tensors, spaces and the game description: the source of truth for both languages."""

PROTOCOL_VERSION = 6
CONTRACT_VERSION = 1
