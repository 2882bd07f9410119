"""Virtual machines on two tiers: launching them, finding them, and sharing near memory."""
