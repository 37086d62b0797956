"""Export: a learner as one ONNX model."""
