"""Evaluation: data sets, scenarios, corruptions, metrics, benchmarks and the robustness check."""
