"""A trained model in one folder, and keyphrases of new texts."""

DEFAULT_MODEL = "models/simckp"  # where the pipeline puts a model
