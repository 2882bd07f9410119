"""Running programs on two tiers: launching them, and what became of their memory."""
