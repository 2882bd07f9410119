"""Programs natively and on a model: how well a model predicts this machine."""
