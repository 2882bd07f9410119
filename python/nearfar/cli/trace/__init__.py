"""The verbs of `nearfar trace`, one file each."""
