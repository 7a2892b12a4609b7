"""What both networks share: backbones, tokens, pooling, losses, training."""
