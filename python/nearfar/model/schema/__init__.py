"""Every key a model file may have: explicit lists, one file a component."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from nearfar.model.key import Key
from nearfar.model.schema import cpu, dram, imc, link, machine, near, nvdimm, run

COMPONENTS: tuple[tuple[str, tuple[Key, ...]], ...] = (
    ("machine", machine.KEYS),
    ("cpu", cpu.KEYS),
    ("link", link.KEYS),
    ("imc", imc.KEYS),
    ("near", near.KEYS),
    ("dram", dram.KEYS),
    ("nvdimm", nvdimm.KEYS),
    ("run", run.KEYS),
)

KEYS = MappingProxyType({key.name: key for _, keys in COMPONENTS for key in keys})

# Below which prefixes a channel of either DRAM standard is described.
DRAM_CHANNELS = ("dram", "near.dram")

# Short names of the buffers of a DIMM of two levels, as the literature on Optane calls them.
ALIASES = MappingProxyType({"nvdimm.rmw": "nvdimm.buffer.1", "nvdimm.ait": "nvdimm.buffer.2"})


def canonical(name: str) -> str:
    """`name` with an alias of a component replaced by the component's own name."""
    for alias, component in ALIASES.items():
        if name == alias or name.startswith(f"{alias}."):
            return component + name.removeprefix(alias)
    return name


def spellings() -> list[str]:
    """Every valid key, aliases included."""
    names = list(KEYS)
    for alias, component in ALIASES.items():
        names += [
            alias + name.removeprefix(component)
            for name in KEYS
            if name.startswith(f"{component}.")
        ]
    return names


# The queues in front of non-volatile DIMMs and what of them survives: a channel of DRAM has queues
# of its own, below `dram`, and is volatile.
_OF_DDRT = frozenset(("imc.wpq.lines", "imc.rpq.lines", "imc.domain"))

# What describes near memory as memory; the rest of `near` describes a cache.
_OF_TIER = frozenset(("near.kind", "near.channels", "near.interleave", "near.capacity"))


@cache
def machine_of(name: str) -> str | None:
    """The kind of machine that alone has the key; None if either has it."""
    component = "nvdimm" if name in _OF_DDRT else name.split(".", 1)[0]
    return component if component in ("dram", "nvdimm") else None


def present(name: str, kind: object) -> bool:
    """Whether a machine of this kind (the value of `machine`) has the key."""
    return machine_of(name) in (None, kind)


def on_link(name: str, link: object) -> bool:
    """Whether a model with this kind of link (the value of `link.kind`) has the key."""
    return link != "none" or name == "link.kind" or not name.startswith("link.")


@cache
def channel_of(name: str) -> str | None:
    """The DRAM channel that the key describes, of those that may be DDR4 or DDR5."""
    return next((prefix for prefix in DRAM_CHANNELS if name.startswith(f"{prefix}.")), None)


def of_standard(name: str, standards: Mapping[str, object]) -> bool:
    """Whether a machine whose channels are of these DRAM standards has the key."""
    channel = channel_of(name)
    if channel is None or standards[channel] == "DDR5":
        return True
    return name.removeprefix(f"{channel}.") not in dram.DDR5_ONLY


def in_near(name: str, near: object) -> bool:
    """Whether a model with this kind of near memory (the value of `near.kind`) has the key."""
    if name.startswith("run."):
        return near == "tier"
    if not name.startswith("near.") or near == "cache":
        return True
    if near == "none":
        return name == "near.kind"
    return name in _OF_TIER or name.startswith("near.dram.")


def in_levels(name: str, levels: int) -> bool:
    """Whether a DIMM of so many buffer levels has the key: only its last one translates."""
    if not name.startswith("nvdimm.buffer."):
        return True
    level, what = name.removeprefix("nvdimm.buffer.").split(".")
    if what in ("fill", "data_latency"):
        return int(level) == levels
    return int(level) <= levels
