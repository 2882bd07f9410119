"""`nearfar probe TARGET`: find out what is inside a memory, on a model or on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.cli.infer import findings_of
from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_output,
    complain,
    emit,
    output_path,
    wants_text,
    write_json,
    write_output,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.errors import InputError, suggestion
from nearfar.report.documents import page
from nearfar.report.findings import probe_text
from nearfar.results import Observation, ProbeResult, load, save

if TYPE_CHECKING:
    from nearfar.measure.host import Host

# About how many hundredths of a probe's time each prober takes, and in how many experiments:
# what the estimate of the time left rests on.
_SHARES = {"policy": (2, 1), "buffers": (16, 28), "queues": (2, 15), "migration": (80, 7)}
_UNSAVED = "nearfar-probe.json"  # where an interrupted probe goes that was to be saved nowhere


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and what to probe."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="model:NAME or model:FILE.toml, then ,KEY=VALUE to change it; or host[:node=N]",
    )
    parser.add_argument(
        "--prober",
        metavar="NAME[,NAME...]",
        help=f"{', '.join(_SHARES)} on a model; caches, tlb on a host; default all",
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument(
        "--html", metavar="FILE", type=output_path, help="also write a page with the evidence"
    )
    parser.add_argument(
        "-o",
        dest="json",
        metavar="FILE",
        type=output_path,
        help="the same as --json FILE",
    )
    parser.add_argument(
        "--resume", metavar="RESULT", help="continue an interrupted probe; takes no TARGET"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Probe; Ctrl-C keeps what was observed and says how to go on."""
    from nearfar.probe import ProbeInterrupted

    try:
        result = _probed(args)
    except ProbeInterrupted as stopped:
        _keep(args, stopped.result)
        raise
    if result.interrupted:
        _keep(args, result)
        raise KeyboardInterrupt
    _report(args, result)
    return 0


def _probed(args: argparse.Namespace) -> ProbeResult:
    from nearfar.measure.host import is_host, parse_host

    if (args.target is None) == (args.resume is None):
        raise InputError("probe: found no TARGET, expected one, or --resume RESULT without one")
    probers = None if args.prober is None else [name.strip() for name in args.prober.split(",")]
    if args.resume is None and is_host(args.target):
        return _host(parse_host(args.target), probers, args)
    from nearfar.probe import probe
    from nearfar.probe.resume import resume

    with ProgressBar("probing", quiet=args.quiet) as bar:
        if args.resume is None:
            return probe(args.target, probers, quick=args.quick, progress=_Estimate(bar, probers))
        if probers is not None or args.quick:
            raise InputError("resume: the file says what to probe; leave out --prober and --quick")
        before = load(args.resume)
        if not isinstance(before, ProbeResult):
            raise InputError(f"{args.resume}: found no probe, expected what `probe` saved")
        estimate = _Estimate(bar, before.pattern.get("probers"))
        for one in before.observations:
            estimate(one)
        return resume(before, progress=estimate)


def _host(host: Host, probers: list[str] | None, args: argparse.Namespace) -> ProbeResult:
    """This machine's caches: every experiment is chosen and judged by `nearfar.infer`."""
    from nearfar.measure.environment import host_environment
    from nearfar.measure.host_core import load_host_core
    from nearfar.probe.host_caches import observe

    _check_host_probers(probers)
    with ProgressBar("probing", quiet=args.quiet) as bar:
        seen, interrupted = observe(host, quick=args.quick, progress=bar)
    return ProbeResult(
        target=host.describe(),
        environment=host_environment(host, 1, load_host_core()),
        pattern={"kind": "probe", "probers": list(_HOST_PROBERS), "quick": args.quick},
        observations=tuple(seen),
        findings=tuple(findings_of(seen)),
        interrupted=interrupted,
    )


_HOST_PROBERS = ("tlb", "caches")


def _check_host_probers(probers: list[str] | None) -> None:
    """They rest on each other: all, or none."""
    for name in probers or ():
        if name not in _HOST_PROBERS:
            known = ", ".join(_HOST_PROBERS)
            raise InputError(
                f"prober: found '{name}', expected one of {known} on a host"
                f"{suggestion(name, _HOST_PROBERS)}"
            )
    if probers is not None and set(probers) != set(_HOST_PROBERS):
        raise InputError("prober: on a host, caches and tlb are probed together: one needs both")


class _Estimate:
    """Turns observations into a share of the whole, which nobody knows before the end."""

    def __init__(self, bar: ProgressBar, probers: list[str] | None) -> None:
        self._bar = bar
        chosen = [name for name in _SHARES if probers is None or name in probers]
        self._total = sum(_SHARES[name][0] for name in chosen) or 1
        self._seen: dict[str, int] = {}

    def __call__(self, seen: Observation) -> None:
        self._seen[seen.prober] = self._seen.get(seen.prober, 0) + 1
        last = seen.prober
        done = 0.0
        for name, count in self._seen.items():
            share, usual = _SHARES.get(name, (1, 10))
            done += share * (min(count / usual, 0.95) if name == last else 1.0)
        self._bar(max(1, round(done)), max(self._total, round(done) + 1))


def _keep(args: argparse.Namespace, result: ProbeResult) -> None:
    """What was found so far, saved, and the command that continues."""
    if args.json is None and result.observations:
        save(result, _UNSAVED)
    _report(args, result)
    count = len(result.observations)
    file = args.json or _UNSAVED
    if not count or file == STANDARD_OUTPUT:
        return
    how = f"; continue with: nearfar probe --resume {file}"
    again = result.target is not None and result.target.kind == "model"
    complain(f"{count} observations are in {Path(file)}{how if again else ''}")


def _report(args: argparse.Namespace, result: ProbeResult) -> None:
    if wants_text(args):
        emit(probe_text(result))
    write_json(args, result.to_dict())
    if args.html is not None:
        write_output(args.html, page([result]))
