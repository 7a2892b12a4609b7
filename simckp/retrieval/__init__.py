"""Retrieve the keyphrases of similar training documents, as a second source of absent keyphrases."""
