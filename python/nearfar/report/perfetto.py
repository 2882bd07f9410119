"""A run as a timeline for ui.perfetto.dev: the trace event format of Chrome, in JSON.

Every process of the run is one of the trace's, with its threads, counters over time by tier and
what the threads' time went to. Times are microseconds of simulated time, as the format wants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from nearfar.results import RunResult, totals
from nearfar.results.machine import Machine
from nearfar.results.run import RunProcess
from nearfar.results.totals import CAUSES, LINE

Event = dict[str, Any]


def perfetto_text(ran: RunResult) -> str:
    """The file's text: an event a line, so that two traces can be compared."""
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events_of(ran))
    about = json.dumps(
        {
            "program": " ".join(map(str, ran.program.get("arguments", ()))),
            "target": ran.target.spec,
            "core": ran.core,
            "nearfar": ran.environment.version,
        }
    )
    return f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":[\n{events}\n]}}\n'


def events_of(ran: RunResult) -> list[Event]:
    """All of them; names of processes and threads come first."""
    # The format takes 0 for the idle process.
    numbered = enumerate(ran.processes, start=1)
    return [event for pid, process in numbered for event in _process(pid, process)]


def _process(pid: int, process: RunProcess) -> Iterator[Event]:
    name = PurePath(process.program).name or process.program
    yield _named("process_name", pid, 0, f"{name} (process {process.process})")
    machine = process.machine
    if machine is None:
        yield _named("thread_name", pid, 1, "not simulated")
        yield _slice(pid, 1, "ran", process.start_ns, process.end_ns)
        return
    yield _named("thread_name", pid, _PHASES, "where most of the time went")
    for thread in range(len(machine.threads)):
        yield _named("thread_name", pid, _FIRST_THREAD + thread, f"thread {thread}")
    yield from _phases(pid, machine)
    yield from _busy(pid, machine)
    yield from _counters(pid, machine)


_PHASES = 1  # what stands in the place of a thread's id
_FIRST_THREAD = 2


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slice(pid: int, tid: int, name: str, begin_ns: float, end_ns: float, **args: object) -> Event:
    length = round((end_ns - begin_ns) / 1000, 6)
    place = {"ph": "X", "name": name, "pid": pid, "tid": tid}
    return {**place, "ts": _us(begin_ns), "dur": length, "args": args}


def _us(ns: float) -> float:
    return round(ns / 1000, 6)


def _buckets(machine: Machine) -> list[tuple[float, float]]:
    """Beginning and end of each, in ns from the beginning of the run."""
    begin = machine.begin_ns
    return [(begin + first, begin + end) for first, end in totals.buckets(machine)]


def _phases(pid: int, machine: Machine) -> Iterator[Event]:
    """Neighbouring buckets whose time went to the same cause for the most part."""
    stack = machine.over_time.stack_ps

    def largest(i: int) -> str:
        spent = {cause: parts[i] for cause, parts in stack.items() if parts[i]}
        return max(spent, key=lambda cause: spent[cause]) if spent else ""

    buckets = _buckets(machine)
    for cause, group in groupby(range(len(buckets)), key=largest):
        run = list(group)
        if cause:
            executed = sum(machine.over_time.instructions[i] for i in run)
            ends = (buckets[run[0]][0], buckets[run[-1]][1])
            yield _slice(pid, _PHASES, CAUSES.get(cause, cause), *ends, instructions=executed)


def _busy(pid: int, machine: Machine) -> Iterator[Event]:
    """When a thread executed instructions at all, as finely as buckets tell."""
    buckets = _buckets(machine)
    for number, thread in enumerate(machine.threads):
        executed = thread.instructions_over_time
        for runs, group in groupby(range(len(buckets)), key=lambda i: bool(executed[i])):
            run = list(group)
            if runs:
                ends = (buckets[run[0]][0], buckets[run[-1]][1])
                sum_ = sum(executed[i] for i in run)
                yield _slice(pid, _FIRST_THREAD + number, "runs", *ends, instructions=sum_)


def _counters(pid: int, machine: Machine) -> Iterator[Event]:
    """Rates over each bucket, from its beginning on, and zero at the end."""
    over = machine.over_time
    buckets = _buckets(machine)
    lengths = [end - begin for begin, end in buckets]
    cycles = [length * 1000 / machine.period_ps for length in lengths]
    tracks: dict[str, dict[str, list[float]]] = {
        "far memory, GB/s": {
            "read": _rates(over.far_reads, lengths, LINE),
            "written": _rates(over.far_writes, lengths, LINE),
        },
        "near memory, GB/s": {
            "read": _rates(over.near_reads, lengths, LINE),
            "written": _rates(over.near_writes, lengths, LINE),
        },
        "instructions a cycle": {
            f"thread {n}": _rates(thread.instructions_over_time, cycles, 1)
            for n, thread in enumerate(machine.threads)
        },
        "threads busy with": {
            cause: _rates(parts, [length * 1000 for length in lengths], 1)
            for cause, parts in over.stack_ps.items()
        },
        "pages moved a us": {"pages": _rates(over.pages_moved, lengths, 1000)},
    }
    for name, series in tracks.items():
        used = {key: values for key, values in series.items() if any(values)}
        if not used:
            continue
        for i, (begin, _) in enumerate(buckets):
            yield _counter(pid, name, begin, {key: values[i] for key, values in used.items()})
        yield _counter(pid, name, buckets[-1][1], dict.fromkeys(used, 0.0))


def _rates(counts: Sequence[int], lengths: Sequence[float], unit: float) -> list[float]:
    return [round(n * unit / length, 6) for n, length in zip(counts, lengths, strict=True)]


def _counter(pid: int, name: str, ns: float, values: dict[str, float]) -> Event:
    return {"ph": "C", "name": name, "pid": pid, "ts": _us(ns), "args": values}
