"""What a measurement on this machine rests on: looked at, judged, and how to mend it.

A prober refuses an inference whose precondition is "bad", and says so where it is "unknown".
"""

from __future__ import annotations

import functools

from nearfar.errors import NearfarError
from nearfar.measuring import machine
from nearfar.measuring.host.core import HostCore, load_host_core
from nearfar.measuring.pages import MANY_PAGES, PAGE, PageFacts, measure_pages
from nearfar.measuring.prefetchers import prefetcher_state
from nearfar.results import Precondition
from nearfar.results.wording import number, size

OK, BAD, UNKNOWN = "ok", "bad", "unknown"

_QUIET_LOAD = 0.5  # processes that want to run, for each processor


def preconditions(core: HostCore | None = None) -> list[Precondition]:
    """Each of them, by name: prefetchers, smt, governor, huge pages, tlb reach, migration,
    virtualisation, load, timer. The first call measures pages, for a few hundredths
    of a second.
    """
    try:
        core = core or load_host_core()
    except (ImportError, NearfarError):
        core = None
    return [
        prefetchers(),
        smt(),
        governor(),
        *pages(core),
        migration(),
        virtualisation(),
        load(),
        timer(core),
    ]


def prefetchers() -> Precondition:
    """Whether loads alone decide what is in the caches."""
    on, found, mend = prefetcher_state()
    effect = (
        "they fetch lines without a request: neighbouring lines, blocks and strides look faster "
        "than the memory is"
    )
    if on is None:
        return Precondition("prefetchers", UNKNOWN, found, effect, mend)
    return Precondition("prefetchers", BAD if on else OK, found, effect, mend if on else "")


def smt() -> Precondition:
    """Whether another thread can use the same core's caches."""
    active = machine.number(machine.SYS / "devices/system/cpu/smt/active")
    effect = "a second thread on the core takes part of its caches, buffers and bandwidth"
    mend = "echo off > /sys/devices/system/cpu/smt/control"
    if active:
        return Precondition("smt", BAD, "on", effect, mend)
    if machine.virtual():
        found = "off in this virtual machine; its host does not tell of its own"
        return Precondition("smt", UNKNOWN, found, effect, "measure on the bare machine")
    if active is None:
        return Precondition("smt", UNKNOWN, "the kernel does not tell", effect)
    return Precondition("smt", OK, "off", effect)


def governor() -> Precondition:
    """Whether the core's clock stays the same."""
    setting = machine.governor()
    effect = "a core that changes its frequency changes every latency of its caches"
    mend = "cpupower frequency-set --governor performance"
    if setting is None:
        found = "the kernel does not control the frequency"
        where = "measure on the bare machine" if machine.virtual() else ""
        return Precondition("governor", UNKNOWN, found, effect, where)
    if setting != "performance":
        return Precondition("governor", BAD, setting, effect, mend)
    return Precondition("governor", OK, setting, effect)


def pages(core: HostCore | None) -> list[Precondition]:
    """Huge pages granted and whole, and how far translation of small ones is quick."""
    huge_effect = "on 4 KiB pages address translation is part of every latency of a large region"
    reach_effect = "beyond it a latency on 4 KiB pages contains address translation"
    if core is None:
        found = "not measured: the compiled core is missing"
        return [
            Precondition("huge pages", UNKNOWN, found, huge_effect, "make"),
            Precondition("tlb reach", UNKNOWN, found, reach_effect, "make"),
        ]
    facts = _page_facts(core)
    return [_huge_pages(facts, huge_effect), _reach(facts, reach_effect)]


@functools.cache
def _page_facts(core: HostCore) -> PageFacts:
    return measure_pages(core, machine.processors()[0])


def _huge_pages(facts: PageFacts, effect: str) -> Precondition:
    name = "huge pages"
    if facts.refusal is not None or facts.huge_ns is None:
        mend = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        return Precondition(name, BAD, facts.refusal or "not granted", effect, mend)
    found = (
        f"2 MiB pages granted; a load from each of {MANY_PAGES} places 4 KiB apart takes "
        f"{number(facts.huge_ns)} ns on them, {number(facts.small_ns)} ns on 4 KiB pages"
    )
    if facts.huge_ones_are_whole:
        return Precondition(name, OK, found, effect)
    if not facts.translation_shows:
        return Precondition(name, UNKNOWN, f"{found}: translation shows on neither", effect)
    mend = (
        "back the virtual machine with huge pages on its host"
        if machine.virtual()
        else "echo 64 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    )
    return Precondition(name, BAD, f"{found}: as slow, so something splits them", effect, mend)


def _reach(facts: PageFacts, effect: str) -> Precondition:
    bytes_ = size(facts.reach * PAGE)
    if facts.reach >= MANY_PAGES:
        return Precondition("tlb reach", OK, f"beyond {MANY_PAGES} pages, {bytes_}", effect)
    found = f"the first-level TLB reaches {facts.reach} pages of 4 KiB, {bytes_}"
    return Precondition("tlb reach", OK, found, effect)


def migration() -> Precondition:
    """Whether the kernel moves pages while they are measured."""
    balancing = machine.number(machine.PROC / "sys/kernel/numa_balancing")
    effect = "the kernel unmaps and moves pages to other nodes in the middle of a measurement"
    if balancing:
        mend = "echo 0 > /proc/sys/kernel/numa_balancing"
        return Precondition("migration", BAD, "NUMA balancing is on", effect, mend)
    return Precondition("migration", OK, "NUMA balancing is off", effect)


def virtualisation() -> Precondition:
    """Whether a hypervisor stands between this kernel and the memory."""
    effect = (
        "a hypervisor hides where pages lie and shares caches with strangers: the size of shared "
        "caches, their ways and interleaving cannot be told"
    )
    if not machine.virtual():
        return Precondition("virtualisation", OK, "none seen", effect)
    share = machine.steal_share()
    stolen = "" if share is None else f"; {share:.2%} of its time since boot went to others"
    found = f"a virtual machine{stolen}"
    return Precondition("virtualisation", BAD, found, effect, "measure on the bare machine")


def load() -> Precondition:
    """Whether anything else runs."""
    average, processors = machine.load_average(), len(machine.processors())
    found = f"{average:.2f} processes on {processors} processors over the last minute"
    effect = (
        "others take the processor, its caches and bandwidth: figures scatter, and some are off"
    )
    if average > _QUIET_LOAD * processors:
        return Precondition("load", BAD, found, effect, "stop other programs; top shows them")
    return Precondition("load", OK, found, effect)


def timer(core: HostCore | None) -> Precondition:
    """Whether the time stamp counter is a clock."""
    effect = "without a counter of constant rate no time can be told from it"
    if core is None:
        found = "not read: the compiled core is missing"
        return Precondition("timer", UNKNOWN, found, effect, "make")
    isa = core.host_isa()
    if not isa["rdtscp"]:
        return Precondition("timer", BAD, "no rdtscp", effect, "use a newer processor")
    found = timer_text(core)
    if not isa["invariant_tsc"]:
        mend = "cpupower frequency-set --governor performance"
        return Precondition("timer", BAD, f"its rate varies; {found}", effect, mend)
    return Precondition("timer", OK, found, effect)


def timer_text(core: HostCore) -> str:
    """The counter's rate and what reading it costs."""
    clock = core.host_clock()
    low, middle, high = (clock[f"overhead_p{part}_ns"] for part in (10, 50, 90))
    return (
        f"time stamp counter at {clock['tsc_hz'] / 1e6:.1f} MHz; a reading costs "
        f"{middle:.1f} ns ({low:.1f} to {high:.1f})"
    )
