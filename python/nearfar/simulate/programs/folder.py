"""What `nearfar run` and the plug-in that it has QEMU load leave each other in a run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nearfar.errors import InputError
from nearfar.model import Model
from nearfar.results.run import RunProcess
from nearfar.simulate.programs.machine import figures_of, machine
from nearfar.simulate.programs.options import RunOptions

_MACHINE = "machine."  # what its figures begin with in a process's result


def write_model(folder: Path, model: Model, options: RunOptions, **further: str) -> None:
    """The machine, with how it is used."""
    memory = {"place": options.place, "pages": options.pages, **further}
    if options.near_bytes is not None:
        memory["near"] = str(options.near_bytes)
    used = "".join(f"run.{name} = {value}\n" for name, value in memory.items())
    (folder / "model").write_text(model.export() + used, encoding="utf-8")


def check_refused(folder: Path) -> None:
    """The plug-in says by a file that it does not want to begin."""
    file = folder / "refused"
    if file.exists():
        raise InputError(file.read_text(encoding="utf-8").strip())


def parts_of(folder: Path) -> list[dict[str, str]]:
    """What each program in each process left, in order of their beginnings."""
    parts = []
    for file in folder.glob("*.result"):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        parts.append(figures_of(lines))
    return sorted(parts, key=lambda part: (int(part["start"]), int(part["process"])))


def process_of(part: Mapping[str, str], number: int, period: int) -> RunProcess:
    prefix = "count."
    figures = {
        name.removeprefix(_MACHINE): value
        for name, value in part.items()
        if name.startswith(_MACHINE)
    }
    return RunProcess(
        program=part.get("called", "?"),
        process=number,
        threads=int(part["threads"]),
        start_ns=int(part["start"]) / 1000,
        end_ns=int(part["end"]) / 1000,
        counts={
            name.removeprefix(prefix): int(value)
            for name, value in part.items()
            if name.startswith(prefix)
        },
        finished=part["final"] == "true",
        machine=machine(figures, period) if figures else None,
    )
