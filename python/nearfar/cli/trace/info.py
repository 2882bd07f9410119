"""`nearfar trace info TRACE`: what a trace holds."""

from __future__ import annotations

import argparse

from nearfar.cli.options import (
    add_output,
    wants_text,
    write_json,
)
from nearfar.cli.parser import Parser
from nearfar.cli.progress import ProgressBar
from nearfar.cli.streams import complain, emit
from nearfar.cli.trace_options import add_trace
from nearfar.simulate.programs.replayed import is_program_trace, program_trace_info
from nearfar.simulate.traces.convert import TraceInfo, trace_info


def add_arguments(parser: Parser) -> None:
    """Declare TRACE and the options."""
    add_trace(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Read the trace and print what is in it."""
    if args.format in ("auto", "nearfar") and is_program_trace(args.trace):
        return _run_program(args)
    with ProgressBar("reading", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        info = trace_info(args.trace, format=args.format, base=args.base, progress=progress)
    if wants_text(args):
        emit(_text(info))
    write_json(args, info.to_dict())
    if info.problem:
        complain(f"warning: {info.problem}")
    return 0


# How the counts of a program's trace are called.
_OF_PROGRAM = {
    "events": "events",
    "threads": "threads",
    "instructions": "instructions",
    "blocks": "blocks of instructions",
    "blocks_executed": "  executed",
    "loads": "loads",
    "marked_loads": "  marked by mkpt",
    "stores": "stores",
    "maps": "mappings made",
    "unmaps": "  removed",
    "remaps": "  moved",
    "frames": "pages placed in frames",
}


def _run_program(args: argparse.Namespace) -> int:
    with ProgressBar("reading", quiet=args.quiet, scale=1 << 20, unit="MiB") as progress:
        info = program_trace_info(args.trace, progress)
    rows = [
        ("format", "nearfar, version 2: what a program executed"),
        ("header", info["header"]),
        ("complete", "no" if info["problem"] else "yes"),
        ("addresses", "virtual"),
        *((called, str(info[name])) for name, called in _OF_PROGRAM.items()),
    ]
    width = max(len(name) for name, _ in rows)
    if wants_text(args):
        text = "".join(f"{name:{width}}  {value}\n" for name, value in rows)
        emit(f"{info['file']}\n{text}")
    write_json(args, info)
    if info["problem"]:
        complain(f"warning: {info['problem']}")
    return 0


def _text(info: TraceInfo) -> str:
    rows = [
        ("format", info.format),
        *([("header", info.header)] if info.header else []),
        ("complete", "no" if info.problem else "yes"),
        ("addresses", "physical" if info.kind == "memory" else "virtual"),
        ("records", str(info.records)),
        *((f"  {name}", str(count)) for name, count in info.operations.items() if count),
        ("threads", str(len(info.threads))),
        *((f"  thread {name}", str(count)) for name, count in _many(info).items()),
        *_range(info),
        ("lines of 64 B", str(info.lines)),
        ("pages of 4 KiB", str(info.pages)),
        *_share("reads", info.read_share, "reads and writes"),
        *_share("sequential", info.sequential_share, "accesses"),
        (info.counts, str(info.length)),
        *([("duration", _duration(info))] if info.clock_ps else []),
        *((f"hot page {page['address']:#x}", str(page["accesses"])) for page in info.hottest_pages),
    ]
    width = max(len(name) for name, _ in rows)
    return f"{info.file}\n" + "".join(f"{name:{width}}  {value}\n" for name, value in rows)


def _range(info: TraceInfo) -> list[tuple[str, str]]:
    if info.pages == 0:
        return []
    return [("address range", f"{info.lowest_address:#x} to {info.highest_address:#x}")]


def _share(name: str, share: float | None, of: str) -> list[tuple[str, str]]:
    return [] if share is None else [(name, f"{share:.1%} of {of}")]


def _many(info: TraceInfo) -> dict[str, int]:
    """Records by thread, where that says more than their total."""
    return dict(info.threads) if len(info.threads) > 1 else {}


def _duration(info: TraceInfo) -> str:
    return f"{info.length * info.clock_ps / 1000:.10g} ns"
