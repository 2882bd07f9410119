"""From measurements to a model: what they fix becomes its keys, the rest stays the base's."""

from nearfar.fitting.fit import fit
from nearfar.fitting.replayed import probe_series

__all__ = ["fit", "probe_series"]
