"""`nearfar probe TARGET`: find out what is inside a memory, on a model or on this machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nearfar.cli.options import (
    STANDARD_OUTPUT,
    add_result,
    write_result,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain
from nearfar.errors import InputError, Interrupted
from nearfar.probing.probers import HOST, KERNEL, MODEL, fitting
from nearfar.report.findings import probe_text
from nearfar.results import ProbeResult, load, save

if TYPE_CHECKING:
    from nearfar.measuring.host.target import Host
    from nearfar.model import Model

_UNSAVED = "nearfar-probe.json"  # where an interrupted probe goes that was to be saved nowhere


def add_arguments(parser: Parser) -> None:
    """Declare TARGET and what to probe."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="model:NAME or model:FILE.toml, then ,KEY=VALUE to change it; host[:node=N] or "
        "host:file=PATH; kernel, kernel:range=ADDRESS or kernel:dax=PATH",
    )
    parser.add_argument(
        "--prober",
        metavar="NAME[,NAME...]",
        help=f"on a model {', '.join(one.name for one in fitting(MODEL))}; on a host "
        f"{', '.join(one.name for one in fitting(HOST))}; in the kernel "
        f"{', '.join(one.name for one in fitting(KERNEL))}; default all",
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument(
        "--resume", metavar="RESULT", help="continue an interrupted probe; takes no TARGET"
    )
    parser.add_argument(
        "--destructive",
        metavar="PATH",
        help="host:file=PATH, kernel:dax=PATH: what this file or device holds may be lost",
    )
    add_result(parser, "the structure and its evidence")


def run(args: argparse.Namespace) -> int:
    """Probe; Ctrl-C keeps what was observed and says how to go on."""
    try:
        result = _probed(args)
    except Interrupted as stopped:
        _keep(args, stopped.result)
        raise
    _report(args, result)
    return 0


def _probed(args: argparse.Namespace) -> ProbeResult:
    from nearfar.probing.probe import probe, resume

    if (args.target is None) == (args.resume is None):
        raise InputError("probe: found no TARGET, expected one, or --resume RESULT without one")
    if args.resume is not None:
        if args.prober is not None or args.quick:
            raise InputError("resume: the file says what to probe; leave out --prober and --quick")
        before = load(args.resume)
        if not isinstance(before, ProbeResult) or before.target is None:
            raise InputError(f"{args.resume}: found no probe, expected what `probe` saved")
        with ProgressBar("probing", quiet=args.quiet) as bar:
            return resume(_resolved(before.target.spec, args.destructive), before, bar)
    probers = None if args.prober is None else [name.strip() for name in args.prober.split(",")]
    target = _resolved(args.target, args.destructive)
    with ProgressBar("probing", quiet=args.quiet) as bar:
        return probe(target, probers, quick=args.quick, progress=bar)


def _resolved(target: str, destructive: str | None) -> Model | Host:
    from nearfar.measuring.host.target import is_host, parse_host
    from nearfar.measuring.target import resolve

    if is_host(target):
        return parse_host(target, destructive)
    if destructive is not None:
        raise InputError("destructive: a model holds nothing that could be lost")
    return resolve(target)


def _keep(args: argparse.Namespace, result: ProbeResult) -> None:
    """What was found so far, saved, and the command that continues."""
    if args.json is None and result.observations:
        save(result, _UNSAVED)
    _report(args, result)
    count = len(result.observations)
    file = args.json or _UNSAVED
    if not count or file == STANDARD_OUTPUT:
        return
    complain(f"{count} observations kept; continue with: nearfar probe --resume {file}")


def _report(args: argparse.Namespace, result: ProbeResult) -> None:
    write_result(args, result, probe_text)
