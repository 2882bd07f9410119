"""DDR4 geometry and timing from the JEDEC tables in models/jedec/ddr4.toml.

A timing is given there in clocks, as a time, or as the greater of both; times become whole
clocks by JEDEC's rounding algorithm.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nearfar import resources
from nearfar.model import units

Lookup = Callable[[str], Any]


@dataclass(frozen=True)
class Derived:
    """A value that follows from others, and where the rule comes from."""

    value: int
    source: str


@cache
def table() -> dict[str, Any]:
    """The tables as TOML has them."""
    text = resources.folder("models").joinpath("jedec", "ddr4.toml").read_text("utf-8")
    return tomllib.loads(text)


SPEED_BINS: tuple[str, ...] = tuple(table()["speed_bin"])
DENSITIES: tuple[int, ...] = tuple(int(density) for density in table()["density"])
WIDTHS: tuple[int, ...] = tuple(int(width) for width in table()["width"])


def clocks(time_ps: int, clock_ps: int) -> int:
    """JEDEC's rounding of a least time to clocks: up, after forgiving 2.6 % of a clock.

    The allowance keeps a time that is a whole number of true clocks from gaining one
    because the period was rounded to a picosecond (5 ns at 833 ps is 6 clocks, not 7).
    """
    return (time_ps * 1000 // clock_ps + 974) // 1000


def geometry(lookup: Lookup) -> dict[str, Derived]:
    """Bank groups, banks, rows and columns of a device; `lookup` gives density and width."""
    data = table()
    width = str(lookup("width"))
    shape = data["width"][width]
    values = {name: shape[name] for name in ("bank_groups", "banks", "columns")}
    values["rows"] = data["density"][str(lookup("density_gbit"))]["rows"][width]
    source = data["source"]["addressing"]
    return {name: Derived(value, source) for name, value in values.items()}


def clock(lookup: Lookup) -> Derived:
    """The clock period of the speed bin."""
    data = table()
    rate = data["speed_bin"][lookup("speed_bin")]["rate"]
    return Derived(_time(data["rate"][str(rate)]["clock"]), data["source"]["speed_bin"])


def timing(lookup: Lookup) -> dict[str, Derived]:
    """Every timing in clocks; `lookup` gives the settings and any timing already known.

    Timings that JEDEC defines through others (tRC = tRAS + tRP) follow the known ones, so
    that an override of tRAS moves tRC with it.
    """
    data = table()
    period = lookup("clock")
    speed_bin = data["speed_bin"][lookup("speed_bin")]
    rate = data["rate"][str(speed_bin["rate"])]
    page = data["width"][str(lookup("width"))]["page"]
    density = data["density"][str(lookup("density_gbit"))]

    found = {
        name: Derived(speed_bin[name], data["source"]["speed_bin"]) for name in ("cl", "rcd", "rp")
    }
    rules: Mapping[str, Any] = {
        **data["timing"],
        **rate["timing"],
        **rate["page"][page],
        "rfc": density["rfc"],
    }
    for name, rule in rules.items():
        text = _rule_text(rule)
        source = data["source"].get(name, data["source"]["timing"])
        found[name] = Derived(_to_clocks(rule, period), f"{source}: {text}")

    def known(name: str) -> int:
        given = lookup(f"timing.{name}")
        return int(found[name].value if given is None else given)

    refi = _time(data["timing"]["refi"])
    found["refi"] = Derived(refi // period, f"{data['source']['refi']}; rounded down, as a limit")
    rfc = _time(density["rfc"])
    extra = clocks(rfc + _time(data["self_refresh_exit"]), period) - clocks(rfc, period)
    source = data["source"]["timing"]
    found["rc"] = Derived(known("ras") + known("rp"), f"{source}: tRAS + tRP")
    found["ckesr"] = Derived(known("cke") + 1, f"{source}: tCKE + 1 nCK")
    found["xs"] = Derived(known("rfc") + extra, f"{source}: tRFC + {data['self_refresh_exit']}")
    return found


def _time(text: str) -> int:
    return units.parse(text, units.TIME)


def _to_clocks(rule: Any, period: int) -> int:
    if isinstance(rule, int):
        return rule
    if isinstance(rule, str):
        return clocks(_time(rule), period)
    return max(int(rule["clocks"]), clocks(_time(rule["time"]), period))


def _rule_text(rule: Any) -> str:
    if isinstance(rule, int):
        return f"{rule} nCK"
    return rule if isinstance(rule, str) else f"max({rule['clocks']} nCK, {rule['time']})"
