"""Plain implementations of the definitions; the fast paths must give the same results."""
