"""From what was given to a value for every key: defaults, derived values, rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from nearfar.errors import InputError
from nearfar.model import currents, jedec, switches
from nearfar.model.file import Given
from nearfar.model.key import Key, Plain
from nearfar.model.rules import link as rules_link
from nearfar.model.rules import machine as rules
from nearfar.model.rules import near as rules_near
from nearfar.model.schema import (
    DRAM_CHANNELS,
    KEYS,
    channel_of,
    in_levels,
    in_near,
    machine_of,
    of_standard,
    on_link,
    present,
)

BY_DEFAULT = "default of the schema"
OVERRIDE_SOURCE = "override"


@dataclass(frozen=True)
class Resolved:
    """The value a key has in a model, in base units, and where it comes from."""

    key: Key
    value: Plain
    source: str

    @property
    def text(self) -> str:
        """The value with its unit, as in a model file."""
        return self.key.format(self.value)


def resolve(given: Mapping[str, Given]) -> dict[str, Resolved]:
    """Every key the machine has, in the schema's order.

    Raises InputError for a key of the other kind of machine and for combinations that no
    machine can have; the message begins with the place of the key at fault.
    """
    shape = _shape(given)
    names = _names(shape)
    found: dict[str, Resolved] = {}
    for name, entry in given.items():
        if name in names:
            found[name] = Resolved(KEYS[name], entry.value, entry.source)
        else:
            _check_dropped(name, entry, given, shape)
    for default in _defaults(shape):
        found.setdefault(default.key.name, default)
    kind, near_kind = shape.kind, shape.near_kind
    prefix = "dram" if kind == "dram" else "nvdimm.dram"
    _check_device(given, prefix)
    _derive_dram(found, prefix)
    if near_kind != "none":
        _check_device(given, "near.dram")
        _derive_dram(found, "near.dram")
    _derive_rest(found)
    _check_switches(given, found)
    _check_rules(given, found)
    return {name: found[name] for name in KEYS if name in found}


@dataclass(frozen=True)
class _Shape:
    """What decides which keys a machine has."""

    kind: Plain | None
    levels: int
    link: Plain | None
    standards: tuple[tuple[str, str], ...]  # of each DRAM channel
    near_kind: Plain | None

    def has(self, name: str) -> bool:
        """Whether such a machine has the key."""
        return (
            present(name, self.kind)
            and in_levels(name, self.levels)
            and on_link(name, self.link)
            and of_standard(name, dict(self.standards))
            and in_near(name, self.near_kind)
        )


def _shape(given: Mapping[str, Given]) -> _Shape:
    return _Shape(
        _value(given, "machine"),
        _levels(given),
        _value(given, "link.kind"),
        tuple((prefix, _standard(given, prefix)) for prefix in DRAM_CHANNELS),
        _value(given, "near.kind"),
    )


@lru_cache(maxsize=64)
def _names(shape: _Shape) -> frozenset[str]:
    """All keys of such a machine."""
    return frozenset(name for name in KEYS if shape.has(name))


@lru_cache(maxsize=64)
def _defaults(shape: _Shape) -> tuple[Resolved, ...]:
    """The default of every key that has one."""
    keys = (key for name, key in KEYS.items() if name in _names(shape))
    return tuple(Resolved(key, key.default, BY_DEFAULT) for key in keys if key.default is not None)


def _check_dropped(name: str, entry: Given, given: Mapping[str, Given], shape: _Shape) -> None:
    """A key that such a machine does not have is an error, unless a layer above it took away what
    it describes."""
    if not on_link(name, shape.link):
        raise InputError(
            f"{entry.place}: found {name} in a model with link.kind = 'none', expected "
            f"link.kind = 'cxl' or 'numa', or no such key"
        )
    if not in_near(name, shape.near_kind):
        if shape.near_kind == "tier" and _above(given, "near.kind", entry):
            return  # the same memory, used in another way
        wanted = "tier" if name.startswith("run.") else "cache"
        raise InputError(
            f"{entry.place}: found {name} in a model with near.kind = '{shape.near_kind}', "
            f"expected near.kind = '{wanted}' or no such key"
        )
    if not present(name, shape.kind):
        raise InputError(
            f"{entry.place}: found {name} in a machine of kind '{shape.kind}', expected machine = "
            f"'{machine_of(name)}' or no such key"
        )
    if not of_standard(name, dict(shape.standards)):
        standard = dict(shape.standards)[str(channel_of(name))]
        raise InputError(
            f"{entry.place}: found {name} in a {standard} channel, expected a speed bin of "
            f"DDR5 or no such key"
        )
    _check_replaced(name, shape.levels, given)


def _above(given: Mapping[str, Given], switch: str, entry: Given) -> bool:
    """Whether `switch` was set on top of what said `entry`, which then is of a part taken away."""
    return switch in given and given[switch].layer > entry.layer


def _levels(given: Mapping[str, Given]) -> int:
    levels = given["nvdimm.levels"].value if "nvdimm.levels" in given else None
    levels = KEYS["nvdimm.levels"].default if levels is None else levels
    assert isinstance(levels, int)
    return levels


def _check_replaced(name: str, levels: int, given: Mapping[str, Given]) -> None:
    """A key of a level that is not there is dropped if a layer above it chose the levels."""
    if _above(given, "nvdimm.levels", given[name]):
        return
    level, what = name.removeprefix("nvdimm.buffer.").split(".")
    if int(level) > levels:
        expected = f"nvdimm.levels = {level}"
    else:
        expected = f"nvdimm.buffer.{levels}.{what}, of the level that translates,"
    raise InputError(
        f"{given[name].place}: found {name} in a DIMM with nvdimm.levels = {levels}, "
        f"expected {expected} or no such key"
    )


def _value(given: Mapping[str, Given], name: str) -> Plain | None:
    return given[name].value if name in given else KEYS[name].default


def _standard(given: Mapping[str, Given], prefix: str) -> str:
    """The DRAM standard of the channel below `prefix`."""
    stated = _value(given, f"{prefix}.standard")
    return (
        jedec.standard_of(_value(given, f"{prefix}.speed_bin")) if stated is None else str(stated)
    )


def _check_device(given: Mapping[str, Given], prefix: str) -> None:
    """The standard has the speed bin and the density: without them nothing can be derived."""
    standard = _standard(given, prefix)
    for name, known in (
        ("speed_bin", jedec.SPEED_BINS[standard]),
        ("density_gbit", jedec.DENSITIES[standard]),
    ):
        key = f"{prefix}.{name}"
        if _value(given, key) in known:
            continue
        other = f"{prefix}.{'standard' if f'{prefix}.standard' in given else 'speed_bin'}"
        others = () if other == key else (other,)
        expected = f"one of {', '.join(str(item) for item in known)}"
        texts = {name: str(_value(given, name)) for name in (key, other)}
        raise _broken(rules.Problem(key, others, expected), given, texts)


def _derive_dram(found: dict[str, Resolved], prefix: str) -> None:
    def lookup(name: str) -> Plain | None:
        entry = found.get(f"{prefix}.{name}")
        return None if entry is None else entry.value

    def fill(derived: Mapping[str, jedec.Derived | currents.Figure]) -> None:
        for name, entry in derived.items():
            full = f"{prefix}.{name}"
            found.setdefault(full, Resolved(KEYS[full], entry.value, entry.source))

    standard, speed_bin = f"{prefix}.standard", lookup("speed_bin")
    value = jedec.standard_of(speed_bin)
    found.setdefault(standard, Resolved(KEYS[standard], value, f"speed bin {speed_bin}"))
    fill(jedec.geometry(lookup))
    fill({"clock": jedec.clock(lookup)})
    fill({f"timing.{name}": entry for name, entry in jedec.timing(lookup).items()})
    fill({f"energy.{name}": entry for name, entry in currents.energy(lookup).items()})


def _derive_rest(found: dict[str, Resolved]) -> None:
    def fill(name: str, value: Plain, source: str) -> None:
        found.setdefault(name, Resolved(KEYS[name], value, source))

    ways = found["cpu.tlb.l1.ways"]
    fill("cpu.tlb.l1.huge_ways", ways.value, "cpu.tlb.l1.ways")
    if found["machine"].value == "dram":
        values = {name: entry.value for name, entry in found.items()}
        fill("capacity", rules.dram_capacity(values, "dram"), "geometry of dram")
    else:
        media, entries = found["nvdimm.media.capacity"], found["nvdimm.buffer.1.entries"]
        fill("capacity", media.value, "nvdimm.media.capacity")
        fill("nvdimm.buffer.1.ways", entries.value, "nvdimm.buffer.1.entries: fully associative")
    if found["near.kind"].value != "none":
        values = {name: entry.value for name, entry in found.items()}
        fill("near.capacity", rules_near.near_capacity(values), "all of near.dram")


def _check_switches(given: Mapping[str, Given], found: Mapping[str, Resolved]) -> None:
    """Refuses what was said of a mechanism that is off.

    A file may say how what it switches off would be, for a model that switches it on.
    """
    values = {name: entry.value for name, entry in found.items()}
    for name, entry in given.items():
        switch = switches.off(name, values)
        if switch is None or _above(given, switch.key, entry):
            continue
        together = switch.key in given and given[switch.key].layer == entry.layer
        if together and entry.source != OVERRIDE_SOURCE:
            continue
        value = found[switch.key].text
        raise InputError(
            f"{entry.place}: found {name} with {switch.key} = {value}, expected {switch.key} = "
            f"{switch.on} or no such key"
        )


def _check_rules(given: Mapping[str, Given], found: Mapping[str, Resolved]) -> None:
    values = {name: entry.value for name, entry in found.items()}
    broken = (rules, rules_near, rules_link)
    for problem in (one for part in broken for one in part.problems(values)):
        texts = {name: found[name].text for name in (problem.key, *problem.others)}
        raise _broken(problem, given, texts)


def _broken(
    problem: rules.Problem, given: Mapping[str, Given], texts: Mapping[str, str]
) -> InputError:
    """The error for a broken rule, given the values of its keys."""
    keys = (problem.key, *problem.others)
    # Blame what was given last: a preset agrees with itself, and so do the defaults.
    culprit = max(keys, key=lambda name: given[name].layer if name in given else -1)
    place = f"{given[culprit].place}: " if culprit in given else ""
    found_text = ", ".join(f"{name} = {texts[name]}" for name in keys if name != culprit)
    with_others = f" with {found_text}" if found_text else ""
    subject = "" if culprit == problem.key else f"{problem.key} to be "
    return InputError(
        f"{place}found {culprit} = {texts[culprit]}{with_others}, "
        f"expected {subject}{problem.expected}"
    )
