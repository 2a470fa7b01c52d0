"""Websocket close codes, each with the one reason for it; `PROTOCOL.md` has the client's reaction."""

from typing import Final

NORMAL: Final = 1000
"""Either side is done; nothing is wrong."""
GOODBYE: Final = "the training is done"
"""Reason of `NORMAL` with which a trainer that has reached its end sends its hosts home."""
GOING_AWAY: Final = 1001
"""The server is shutting down; come back later."""
TOO_LARGE: Final = 1009
"""A frame was larger than `max_frame_bytes`."""
INTERNAL: Final = 1011
"""The server failed to handle a message of this peer; its log has the error."""
BACKPRESSURE: Final = 1013
"""The peer does not read as fast as it is sent to, or the server is full; try again later."""
VERSION: Final = 4001
"""Protocol version or build differ; reload the page."""
TOKEN: Final = 4002
"""The token is missing, wrong or expired."""
ROLE: Final = 4003
"""This role, or this tier, may not do that here."""
RUN: Final = 4004
"""The run named is not the active one."""
MALFORMED: Final = 4005
"""A frame was not a valid message, or not one that this role may send now."""
HELLO_TIMEOUT: Final = 4008
"""No `hello` within 3 s of the socket opening."""
REPLACED: Final = 4009
"""The same worker or host connected again; the newer socket stays."""
RUN_ENDED: Final = 4010
"""The run is over; the host stays for the next assignment, its workers end."""

RETRY: Final = frozenset({GOING_AWAY, BACKPRESSURE, HELLO_TIMEOUT, INTERNAL, 1005, 1006, 1012})
"""Codes after which a client reconnects with back-off; after any other it stays away and shows the reason."""
