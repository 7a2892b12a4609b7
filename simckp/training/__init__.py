"""Training of both networks on ``transformers.Trainer``."""
