"""The caches and TLBs of a machine, from chains of dependent loads."""
