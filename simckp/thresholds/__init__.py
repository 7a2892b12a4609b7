"""From scores to keyphrases: thresholds, their calibration, selection."""
