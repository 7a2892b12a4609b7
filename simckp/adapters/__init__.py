"""The predictor in other libraries' pipelines: spaCy, scikit-learn."""
