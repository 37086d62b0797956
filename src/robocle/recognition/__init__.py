"""Recognition: what scores mean: thresholds, calibrated confidence, readiness of labels."""
