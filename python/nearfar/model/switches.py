"""Keys that have no effect while another one keeps their mechanism switched off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from nearfar.model.key import Plain


@dataclass(frozen=True)
class Switch:
    """While `key` has the value `off`, what it switches does nothing; `on` says what would help."""

    key: str
    off: Plain
    on: str


# By the keys that need them; what a pattern's groups matched stands for them in the switch.
_SWITCHES = (
    (r"cpu\.prefetch\.(?:streams|degree|distance)", Switch("cpu.prefetch.stream", False, "true")),
    (
        r"cpu\.core\.(?:width|rob|loads|forward|branch_penalty|branch_targets|wrong_path)",
        Switch("cpu.core.kind", "simple", "window"),
    ),
    (
        r"((?:near\.|nvdimm\.|)dram)\.refresh\.(?:postpone|granularity|banks)",
        Switch(r"\1.refresh.enabled", False, "true"),
    ),
    (
        r"(nvdimm\.buffer\.\d)\.data_latency",
        Switch(r"\1.fill", "none", "sector or page"),
    ),
    (r"link\.directory\.latency", Switch("link.directory.kept", "none", "memory")),
    (
        r"(?:cpu\.pretranslation\..*|nvdimm\.pretranslation\.(?!enabled).*)",
        Switch("nvdimm.pretranslation.enabled", False, "true"),
    ),
    (r"nvdimm\.wear\.(?:stall|spread|spares)", Switch("nvdimm.wear.writes", 0, "1 or more")),
    (
        r"nvdimm\.lazy\.(?:lz[12]\..*|priority|threshold|age|energy)",
        Switch("nvdimm.lazy.enabled", False, "true"),
    ),
    (
        r"(nvdimm\.wear\.minor\.\d)\.stall",
        Switch(r"\1.interval", 0, "1 or more"),
    ),
)


def off(name: str, values: Mapping[str, Plain]) -> Switch | None:
    """The switch that keeps `name` from having any effect, if one does."""
    for switch in _switches(name):
        value = values.get(switch.key)
        # False is 0 in Python, but no count of writes.
        if (type(value), value) == (type(switch.off), switch.off):
            return switch
    return None


@cache
def _switches(name: str) -> tuple[Switch, ...]:
    """What switches the mechanism of `name`."""
    found = ((re.fullmatch(pattern, name), switch) for pattern, switch in _SWITCHES)
    return tuple(
        Switch(match.expand(switch.key), switch.off, switch.on) for match, switch in found if match
    )
