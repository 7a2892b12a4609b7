"""Code that the networks of both stages share: backbones, tokens, pooling, losses, training."""
