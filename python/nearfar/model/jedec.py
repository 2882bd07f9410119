"""DRAM geometry and timing from the JEDEC tables in models/jedec/, one file a standard.

A timing is given there in clocks, as a time, or as the greater of both; times become whole
clocks by the rounding algorithm of the standard.
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
Note = Callable[[str, Any], None]


@dataclass(frozen=True)
class Derived:
    """A value that follows from others, and where the rule comes from."""

    value: int
    source: str


@cache
def table(standard: str) -> dict[str, Any]:
    """The tables of a standard as TOML has them."""
    text = (
        resources.folder("models").joinpath("jedec", f"{standard.lower()}.toml").read_text("utf-8")
    )
    return tomllib.loads(text)


STANDARDS: tuple[str, ...] = ("DDR4", "DDR5")
SPEED_BINS: dict[str, tuple[str, ...]] = {
    standard: tuple(table(standard)["speed_bin"]) for standard in STANDARDS
}
DENSITIES: dict[str, tuple[int, ...]] = {
    standard: tuple(int(density) for density in table(standard)["density"])
    for standard in STANDARDS
}
WIDTHS: tuple[int, ...] = tuple(int(width) for width in table("DDR4")["width"])


def standard_of(speed_bin: object) -> str:
    """The standard that has the speed bin."""
    return next(standard for standard in STANDARDS if speed_bin in SPEED_BINS[standard])


def clocks(time_ps: int, clock_ps: int, standard: str = "DDR4") -> int:
    """JEDEC's rounding of a least time to clocks: up, after forgiving a little.

    DDR4 forgives 2.6 % of a clock, DDR5 0.3 % of the time. The allowance keeps a time that is a
    whole number of true clocks from gaining one because the period was rounded to a picosecond
    (5 ns at 833 ps is 6 clocks, not 7; at 416 ps it is 12, not 13).
    """
    if standard == "DDR4":
        return (time_ps * 1000 // clock_ps + 974) // 1000
    return (time_ps * 997 // clock_ps + 1000) // 1000


def geometry(lookup: Lookup) -> dict[str, Derived]:
    """The shape of a device and its burst; `lookup` gives standard, density and width."""
    data = table(lookup("standard"))
    width = str(lookup("width"))
    density = data["density"][str(lookup("density_gbit"))]
    shape = {**data["width"][width], **density}
    values = {name: shape[name] for name in ("bank_groups", "banks", "columns")}
    values["rows"] = density["rows"][width]
    values["burst_length"] = data["burst_length"]
    if "subchannels" in data:
        values["subchannels"] = data["subchannels"]
    source = data["source"]["addressing"]
    return {name: Derived(value, source) for name, value in values.items()}


def clock(lookup: Lookup) -> Derived:
    """The clock period of the speed bin."""
    data = table(lookup("standard"))
    rate = data["speed_bin"][lookup("speed_bin")]["rate"]
    return Derived(_time(data["rate"][str(rate)]["clock"]), data["source"]["speed_bin"])


def timing(lookup: Lookup) -> dict[str, Derived]:
    """Every timing in clocks; `lookup` gives the settings and any timing already known.

    Timings that JEDEC defines through others (tRC = tRAS + tRP) follow the known ones, so
    that an override of tRAS moves tRC with it.
    """
    standard = lookup("standard")
    data = table(standard)
    period = lookup("clock")
    speed_bin = data["speed_bin"][lookup("speed_bin")]
    rate = data["rate"][str(speed_bin["rate"])]
    page = data["width"][str(lookup("width"))]["page"]

    found = {
        name: Derived(speed_bin[name], data["source"]["speed_bin"]) for name in ("cl", "rcd", "rp")
    }

    def note(name: str, rule: Any) -> None:
        source = data["source"].get(name, data["source"]["timing"])
        value = _to_clocks(rule, period, standard)
        found[name] = Derived(value, f"{source}: {_rule_text(rule)}")

    def known(name: str) -> int:
        given = lookup(f"timing.{name}")
        return int(found[name].value if given is None else given)

    for name, rule in {**data["timing"], **rate["timing"], **rate["page"][page]}.items():
        note(name, rule)
    source = data["source"]["timing"]
    found["rc"] = Derived(known("ras") + known("rp"), f"{source}: tRAS + tRP")
    finish = _finish_ddr4 if standard == "DDR4" else _finish_ddr5
    finish(lookup, found, note, known)
    return found


def _refi(data: Mapping[str, Any], text: str, period: int) -> Derived:
    return Derived(_time(text) // period, f"{data['source']['refi']}; rounded down, as a limit")


def _finish_ddr4(
    lookup: Lookup, found: dict[str, Derived], note: Note, known: Callable[[str], int]
) -> None:
    """Refresh and self-refresh, which depend on the density."""
    data, period = table("DDR4"), lookup("clock")
    rfc = data["density"][str(lookup("density_gbit"))]["rfc"]
    note("rfc", rfc)
    found["refi"] = _refi(data, data["refresh"]["refi"], period)
    extra = clocks(_time(rfc) + _time(data["self_refresh_exit"]), period) - clocks(
        _time(rfc), period
    )
    source = data["source"]["timing"]
    found["ckesr"] = Derived(known("cke") + 1, f"{source}: tCKE + 1 nCK")
    found["xs"] = Derived(known("rfc") + extra, f"{source}: tRFC + {data['self_refresh_exit']}")


def _finish_ddr5(
    lookup: Lookup, found: dict[str, Derived], note: Note, known: Callable[[str], int]
) -> None:
    """Refresh, by density and granularity; self-refresh; and the write latency."""
    data, period = table("DDR5"), lookup("clock")
    density = data["density"][str(lookup("density_gbit"))]
    refresh = data["refresh"][lookup("refresh.granularity")]
    note("rfc", density[refresh["rfc"]])
    note("rfc_sb", density["rfc_sb"])
    note("xs", density["rfc1"])
    found["refi"] = _refi(data, refresh["refi"], period)
    found["cwl"] = Derived(known("cl") - 2, data["source"]["cwl"])
    stay = sum(_to_clocks(rule, period, "DDR5") for rule in data["self_refresh"].values())
    text = " + ".join(_rule_text(rule) for rule in data["self_refresh"].values())
    found["ckesr"] = Derived(stay, f"{data['source']['ckesr']}: {text}")


def _time(text: str) -> int:
    return units.parse(text, units.TIME)


def _to_clocks(rule: Any, period: int, standard: str) -> int:
    if isinstance(rule, int):
        return rule
    if isinstance(rule, str):
        return clocks(_time(rule), period, standard)
    return max(int(rule["clocks"]), clocks(_time(rule["time"]), period, standard))


def _rule_text(rule: Any) -> str:
    if isinstance(rule, int):
        return f"{rule} nCK"
    return rule if isinstance(rule, str) else f"max({rule['clocks']} nCK, {rule['time']})"
