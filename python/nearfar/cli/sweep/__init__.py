"""`nearfar sweep`: one module a verb; `run` is meant where none is given."""
