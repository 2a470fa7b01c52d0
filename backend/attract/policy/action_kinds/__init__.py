"""The kinds of action: what each is for torch and in an ONNX graph, one module per kind, and their table."""
