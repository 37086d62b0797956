"""Export: a taught learner as one ONNX model."""
