"""Random plausible machines, for testing probes and ideas."""
