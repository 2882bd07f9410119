"""Stage one of a fit, of a machine whose memory the processor's caches are in front of: what its
core, its caches and TLBs are like, and how many channels its bandwidth takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from nearfar.fitting.found import Fixed, Found, Values, fixed, holds, number
from nearfar.model import Model
from nearfar.model.key import Plain
from nearfar.model.schema import KEYS

_LINE = 64
_BEAT = 8  # bytes that a channel moves at each edge of its clock
# Of what its pins could move a channel of DRAM moves so much at most: refreshes take the rest
# (JESD79-4: 350 ns of each 7.8 us for devices of 8 Gbit).
_MOVED = 0.955
_PAGES = (4096, 2 << 20)

# Findings of the core that count something, and the keys of both core models.
_COUNTS = (
    ("core.window", ("cpu.core.rob", "cpu.rob")),
    ("core.stores", ("cpu.core.stores", "cpu.store_queue")),
    ("core.misses", ("cpu.l1.mshrs", "cpu.load_buffers")),
    ("core.l2.misses", ("cpu.l2.mshrs",)),
    ("core.adds", ("cpu.core.width",)),
)

_KEYS: Mapping[str, tuple[str, ...]] = {
    **{
        f"cache.{level}.{name}": (f"cpu.l{level}.{key}",)
        for level in (1, 2, 3)
        for name, key in (("capacity", "size"), ("ways", "ways"), ("latency", "latency"))
    },
    **{f"tlb.{level}.entries": (f"cpu.tlb.l{level}.entries",) for level in (1, 2)},
    "tlb.1.miss": ("cpu.tlb.l2.latency",),
    "core.clock": ("cpu.clock",),
    "core.mispredict": ("cpu.core.branch_penalty",),
}


def processor(found: Found, base: Model) -> Values:
    """The keys that findings about a processor fix."""
    values: Values = {}
    for part in (_caches(found, base), _tlbs(found), _core(found), _channels(found, base)):
        values.update(part)
    return values


def named_by(finding: str) -> tuple[str, ...]:
    """The keys whose values a finding of that name would be."""
    return _KEYS.get(finding) or dict(_COUNTS).get(finding, ())


def following(values: Mapping[str, Fixed], base: Model) -> dict[str, Plain]:
    """What has to follow for the processor to be one that can be built: of another clock than the
    base's, the times that the base has in cycles; of another window than the base's, the loads
    among its instructions; and the ways of TLBs of other sizes."""
    made: dict[str, Plain] = {}
    clock, forward = "cpu.clock", "cpu.core.forward"
    if clock in values:
        longer = float(values[clock].value) / float(base[clock])
        made[forward] = max(1, round(float(base[forward]) * longer))
    window, loads = "cpu.core.rob", "cpu.core.loads"
    if window in values:
        larger = float(values[window].value) / float(base[window])
        made[loads] = max(1, round(float(base[loads]) * larger))
    for level in (1, 2):
        entries, ways = f"cpu.tlb.l{level}.entries", f"cpu.tlb.l{level}.ways"
        if entries in values and int(values[entries].value) % int(base[ways]):
            made[ways] = values[entries].value  # in one set, which any number of entries makes
    return made


def _core(found: Found) -> Iterator[tuple[str, Fixed]]:
    clock = found.get("core.clock")
    if clock is not None:
        low, high = clock.interval or (number(clock), number(clock))
        period = round(1000 / number(clock))
        bounds = (min(period, 1000 / high), max(period, 1000 / low))
        yield "cpu.clock", Fixed(period, bounds, (clock.name,))
    penalty = found.get("core.mispredict")
    if penalty is not None:
        yield "cpu.core.branch_penalty", fixed(penalty, round(number(penalty) * 1000), 1000)
    for name, keys in _COUNTS:
        if name not in found:
            continue
        for key in keys:
            value = min(max(1, round(number(found[name]))), int(KEYS[key].high or math.inf))
            yield key, fixed(found[name], value)


def _channels(found: Found, base: Model) -> Iterator[tuple[str, Fixed]]:
    """As many as the highest bandwidth takes at least, each as fast as the base's; there may be
    more, which the processors that measured it could not fill."""
    peaks = [found[name] for name in _PEAKS if name in found]
    if str(base["machine"]) != "dram" or not peaks:
        return
    most = max(peaks, key=number)
    each = 2 * _BEAT * 1000 / float(base["dram.clock"])  # GB/s
    channels = max(1, math.ceil(number(most) / (_MOVED * each)))
    if channels > int(base["channels"]):
        yield "channels", Fixed(channels, None, (most.name,))


_PEAKS = ("bandwidth.read.peak", "bandwidth.write.peak", "core.bandwidth")


def _caches(found: Found, base: Model) -> Iterator[tuple[str, Fixed]]:
    for level in (1, 2, 3):
        key, name = f"cpu.l{level}", f"cache.{level}"
        ways = found.get(f"{name}.ways")
        if ways is not None:
            yield f"{key}.ways", fixed(ways, round(number(ways)))
        size = found.get(f"{name}.capacity")
        if size is not None and not holds(size, float(base[f"{key}.size"])):
            rows = round(number(ways)) if ways is not None else int(base[f"{key}.ways"])
            slices = int(base[f"{key}.slices"]) if level == 3 else 1
            unit = rows * slices * _LINE
            yield f"{key}.size", fixed(size, max(1, round(number(size) / unit)) * unit)
        policy = found.get(f"{name}.policy")
        if policy is not None and policy.value in KEYS[f"{key}.policy"].choices:
            yield f"{key}.policy", fixed(policy, str(policy.value))
        latency = found.get(f"{name}.latency")
        if latency is not None:
            yield f"{key}.latency", fixed(latency, round(number(latency) * 1000), 1000)


def _tlbs(found: Found) -> Iterator[tuple[str, Fixed]]:
    for level in (1, 2):
        entries = found.get(f"tlb.{level}.entries")
        if entries is not None:
            yield f"cpu.tlb.l{level}.entries", fixed(entries, round(number(entries)))
    page = found.get("tlb.page")
    if page is not None and number(page) in _PAGES:
        yield "cpu.page", fixed(page, round(number(page)))
    miss = found.get("tlb.1.miss")
    if miss is not None:
        yield "cpu.tlb.l2.latency", fixed(miss, round(number(miss) * 1000), 1000)
