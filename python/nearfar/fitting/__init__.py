"""From measurements to a model: what they fix becomes its keys, the rest stays the base's."""

from nearfar.fitting.fit import fit

__all__ = ["fit"]
