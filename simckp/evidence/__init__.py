"""What speaks for a phrase besides the networks: its place in the text, the training corpus, the neighbours."""
