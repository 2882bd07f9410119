"""Supply currents of a DRAM device from data sheets: models/currents/, one file a standard."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from nearfar import resources
from nearfar.model import units
from nearfar.model.jedec import Lookup
from nearfar.model.jedec import table as jedec_table


@dataclass(frozen=True)
class Figure:
    """A voltage in mV, a current in uA or a plain share, and where it comes from."""

    value: int | float
    source: str


@cache
def table(standard: str) -> dict[str, Any]:
    """The table of a standard as TOML has it."""
    path = resources.folder("models").joinpath("currents", f"{standard.lower()}.toml")
    return tomllib.loads(path.read_text("utf-8"))


def energy(lookup: Lookup) -> dict[str, Figure]:
    """Supplies and currents; `lookup` gives standard, speed bin, density and width."""
    standard = lookup("standard")
    data = table(standard)
    source = data["source"]
    width = str(lookup("width"))
    rate = data["rate"][str(jedec_table(standard)["speed_bin"][lookup("speed_bin")]["rate"])]
    found = {
        name: Figure(units.parse(text, units.VOLTAGE), source[name])
        for name, text in data["supply"].items()
    }
    for name, given in {**data["same"], **data["width"][width], **rate["width"][width]}.items():
        origin = source.get(name, source["currents"])
        if name in rate.get("estimated", ()):
            origin = source["rate"]
        if isinstance(given, float):
            found[name] = Figure(given, origin)
            continue
        if lookup("density_gbit") != data["measured_density"]:
            origin = f"{source['density']}; {origin}"
        found[name] = Figure(units.parse(given, units.CURRENT), origin)
    return found
