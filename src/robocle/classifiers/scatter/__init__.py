"""Scatter matrices: compressed and dense forms, class factors, shrinkage, leave-one-out scores."""
