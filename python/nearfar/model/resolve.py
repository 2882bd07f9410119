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
    kind = given["machine"].value if "machine" in given else KEYS["machine"].default
    link = given["link.kind"].value if "link.kind" in given else KEYS["link.kind"].default
    near_kind = given["near.kind"].value if "near.kind" in given else KEYS["near.kind"].default
    standards = {prefix: _standard(given, prefix) for prefix in DRAM_CHANNELS}
    found: dict[str, Resolved] = {}
    for name, entry in given.items():
        if not on_link(name, link):
            raise InputError(
                f"{entry.place}: found {name} in a model with link.kind = 'none', expected "
                f"link.kind = 'cxl' or 'numa', or no such key"
            )
        if not in_near(name, near_kind):
            if near_kind == "tier" and _above(given, "near.kind", entry):
                continue  # the same memory, used in another way
            wanted = "tier" if name.startswith("run.") else "cache"
            raise InputError(
                f"{entry.place}: found {name} in a model with near.kind = '{near_kind}', expected "
                f"near.kind = '{wanted}' or no such key"
            )
        if not present(name, kind):
            raise InputError(
                f"{entry.place}: found {name} in a machine of kind '{kind}', expected machine = "
                f"'{machine_of(name)}' or no such key"
            )
        if not of_standard(name, standards):
            standard = standards[str(channel_of(name))]
            raise InputError(
                f"{entry.place}: found {name} in a {standard} channel, expected a speed bin of "
                f"DDR5 or no such key"
            )
        found[name] = Resolved(KEYS[name], entry.value, entry.source)
    levels = _levels(given)
    for name in [name for name in found if not in_levels(name, levels)]:
        _check_replaced(name, levels, given)
        del found[name]
    for default in _defaults(kind, levels, link, tuple(standards.items()), near_kind):
        found.setdefault(default.key.name, default)
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


@lru_cache(maxsize=64)
def _defaults(
    kind: Plain | None,
    levels: int,
    link: Plain | None,
    standards: tuple[tuple[str, str], ...],
    near_kind: Plain | None,
) -> tuple[Resolved, ...]:
    """The default of every key that has one, of those that such a machine has."""
    return tuple(
        Resolved(key, key.default, BY_DEFAULT)
        for name, key in KEYS.items()
        if key.default is not None
        and present(name, kind)
        and in_levels(name, levels)
        and on_link(name, link)
        and of_standard(name, dict(standards))
        and in_near(name, near_kind)
    )


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
