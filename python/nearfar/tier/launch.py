"""Starts a program on two tiers and waits for it.

What the program and its children share is kept open for as long as they run, by a process of its
own: each of them opens it by that process's number in /proc.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.errors import check_one_of
from nearfar.results.faults import DEFAULT_POLICY, POLICIES
from nearfar.tier import control
from nearfar.tier.far import compressed, far_memory, store_of
from nearfar.tier.far_names import ANONYMOUS
from nearfar.tier.faults import recorded_faults
from nearfar.tier.flat import FlatOptions, flat_settings
from nearfar.tier.holder import VARIABLE, held_open
from nearfar.tier.machine import kills_for_memory, possible_eviction, preloaded
from nearfar.tier.outcome import Outcome
from nearfar.tier.own_tracer import tracer_requests
from nearfar.tier.pager_cpu import check_pager_cpu
from nearfar.tier.program import check_manageable
from nearfar.tier.samples import sampled
from nearfar.tier.server import serving
from nearfar.tier.tree import Tree, check_near
from nearfar.tier.waiting import held_back, start, wait_for

GUEST = "NEARFAR_TIER_GUEST"
NO_DELAY = control.Delay()


@dataclass(frozen=True)
class LaunchOptions:
    """How a program's memory is managed.

    `compress`, of control.COMPRESSIONS, is what far pages are compressed with, if the far memory
    does not say so; `evict`, of control.EVICTIONS, how pages leave. `policy`, of POLICIES, says
    which page leaves; what it is told and answers goes into a new file `record_faults`. `delay` is
    charged for what moves from or to far memory. With `sigbus`, threads bring their pages in
    themselves; `pager_cpu`, of control.PAGER_CPUS, is where the pager's threads run.
    `guest`, if it is given, is what NEARFAR_TIER_GUEST says: of a virtual machine monitor only
    these blocks are managed. `variables` are added to the environment. While the program runs,
    `beside` is entered, with the descriptor of what its tree shares.
    """

    compress: str | None = None
    evict: str = control.BEST
    policy: str = DEFAULT_POLICY
    record_faults: str | None = None
    delay: control.Delay = NO_DELAY
    sigbus: bool = False
    pager_cpu: str = control.AUTO
    flat: FlatOptions | None = None
    guest: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    beside: Callable[[int], AbstractContextManager[object]] = contextlib.nullcontext


BEST = LaunchOptions()


def run(
    file: str,
    arguments: Sequence[str],
    *,
    dynamic: bool,
    near_bytes: int,
    far: str,
    options: LaunchOptions = BEST,
) -> Outcome:
    """Run a program with at most `near_bytes` of near memory and its children's; wait for it.

    `arguments` begin with the program's name; `dynamic`: `file` names a dynamic linker, and `far`
    is as tier.far has it. Raises InputError for a program that cannot be managed, a near memory
    that is too small, far memory that cannot be, an unknown policy, or a file that is there;
    NearfarError if this machine cannot.
    """
    check_near(near_bytes)
    check_manageable(file, dynamic)
    eviction = possible_eviction(options.evict, sigbus=options.sigbus)
    check_pager_cpu(options.pager_cpu)
    check_one_of("--policy", options.policy, POLICIES)
    flat = None if options.flat is None else flat_settings(far, options.flat)
    place, compression = compressed(far if flat is None else ANONYMOUS, options.compress)
    with (
        held_back() as let_through,
        recorded_faults(options.record_faults, options.policy, near_bytes // control.PAGE) as log,
        far_memory(place) as far_file,
        _shared(
            control.create(
                near_bytes,
                control.Settings(
                    policy=options.policy,
                    fault_log=log.descriptor,
                    delay=options.delay,
                    far_store=store_of(place, compression),
                    compression=compression,
                    eviction=eviction,
                    pager_cpu=options.pager_cpu if flat is None else control.ANY,
                    flat=flat,
                ),
            )
        ) as (memory, bell),
        tracer_requests() as requests,
        held_open(memory, far_file, bell, requests, log) as holder,
    ):
        named = f"{holder}:{memory}:{far_file}:{bell}:{int(options.sigbus)}"
        environment = _environment(f"{named}:{_confinement()}:{requests}", options)
        kills = kills_for_memory()
        name = os.fsencode(Path(arguments[0]).name).decode(errors="replace")
        with (
            serving(Tree(memory, bell, os.getpid(), name)),
            sampled(memory) as samples,
            options.beside(memory),
        ):
            waited = wait_for(start(arguments, file, let_through, environment))
        lacked = waited.status == 128 + signal.SIGKILL and kills_for_memory() > kills
        limit = control.limit(memory) * control.PAGE
        counts = control.counts(memory)
        policy = control.policy(memory)
    return Outcome(
        waited.status,
        limit,
        policy,
        counts,
        lacked,
        compression,
        eviction,
        flat=flat,
        unrecorded=log.problem,
        over_time=samples.result(),
        runs_on=waited.runs_on,
    )


def _environment(launch: str, options: LaunchOptions) -> dict[str, str]:
    managed = preloaded(sigbus=options.sigbus, heap=not options.guest)
    guest = {GUEST: options.guest} if options.guest else {}
    return {
        **os.environ,
        **options.variables,
        **guest,
        "LD_PRELOAD": " ".join([managed, *os.environ.get("LD_PRELOAD", "").split()]),
        VARIABLE: launch,
    }


def _confinement() -> str:
    """What children that are confined more than this process differ in: the namespace of process
    numbers, and how many filters of system calls there are."""
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    status = Path("/proc/self/status").read_text(errors="replace")
    filters = re.search(r"^Seccomp_filters:\s*(\d+)", status, re.MULTILINE)
    return f"{namespace}:{filters[1] if filters else 0}"


@contextlib.contextmanager
def _shared(memory: int) -> Iterator[tuple[int, int]]:
    try:
        bell = control.open_bell()
        try:
            yield memory, bell
        finally:
            os.close(bell)
    finally:
        os.close(memory)
