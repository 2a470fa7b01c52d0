"""Networks per space, their ONNX export, patching and parity check."""
