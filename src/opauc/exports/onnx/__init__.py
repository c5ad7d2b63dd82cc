"""Models as ONNX: graphs of standard operators in float64."""
