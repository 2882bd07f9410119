"""Model files: schema, units, presets, and errors that name file and line.

    model = load("optane-100").override("nvdimm.rmw.entries=128", channels=6)
    model["imc.interleave"]     # 4096, in base units
    model.export()              # what the core reads

Everything here raises InputError, one line, for what a user got wrong.
"""

from nearfar.model.load import describe_processor, load, load_target, presets, processors
from nearfar.model.model import Model

__all__ = [
    "Model",
    "describe_processor",
    "load",
    "load_target",
    "presets",
    "processors",
]
