"""Making backbones: exports from PyTorch, ONNX files, int8 quantisation, and measurements."""
