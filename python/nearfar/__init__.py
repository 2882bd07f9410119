"""nearfar measures, models and manages hybrid memory."""
