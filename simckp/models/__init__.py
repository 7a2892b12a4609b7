"""The two networks and the pieces they are made of."""
