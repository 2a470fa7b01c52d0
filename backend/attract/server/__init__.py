"""The gateway: HTTP and websockets, and who may use them; a run is none of its business."""
