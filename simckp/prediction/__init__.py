"""A trained model in one folder, and keyphrases of new texts."""
