"""What a program did on a simulated machine, as text."""

from __future__ import annotations

from nearfar.results.ran import Ran

# Counts worth a line even in a short report, and how they are called there.
_SHOWN = (
    ("instructions", "instructions"),
    ("loads", "loads"),
    ("stores", "stores"),
    ("nt_stores", "non-temporal stores"),
    ("atomics", "atomics"),
    ("clwb", "clwb"),
    ("clflushopt", "clflushopt"),
    ("clflush", "clflush"),
    ("store_fences", "sfence"),
    ("full_fences", "mfence"),
    ("system_calls", "system calls"),
)


def run_text(ran: Ran) -> str:
    """What ran, for how long, and what it executed; kinds that did not occur are left out."""
    threads = sum(process.threads for process in ran.processes)
    state = "interrupted" if ran.interrupted else f"status {ran.exit_code}"
    lines = [
        f"{ran.program['file']} on {ran.target.spec}, core {ran.core}: {state}, "
        f"{_span(ran.elapsed_ns)} simulated",
        f"{_count(len(ran.processes), 'program')} in "
        f"{_count(len({p.process for p in ran.processes}), 'process', 'processes')}, "
        f"{_count(threads, 'thread')}",
    ]
    width = max(len(name) for _, name in _SHOWN)
    for key, name in _SHOWN:
        count = ran.counts.get(key, 0)
        if count:
            size = ran.counts.get(f"{key[:-1]}_bytes")
            moved = "" if size is None else f"  {size:,} bytes"
            lines.append(f"  {name:{width}}  {count:>15,}{moved}")
    return "\n".join(lines) + "\n"


def _span(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"
