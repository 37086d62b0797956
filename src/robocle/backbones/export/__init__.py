"""Making backbones: exports from PyTorch, your own ONNX files, int8, and measuring them."""
