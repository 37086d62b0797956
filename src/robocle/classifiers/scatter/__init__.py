"""Scatter matrices: compressed or dense, what each class contributes, shrinkage, leave-one-out."""
