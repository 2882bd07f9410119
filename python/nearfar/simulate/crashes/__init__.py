"""What a loss of power can leave, and whether an invariant holds on it."""
