"""Figures of observations, one file for each kind of experiment."""
