"""Every command. A new one is a module with `add_arguments` and `run`, and a line here."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import Protocol, cast

from nearfar.cli.parser import Parser


class CommandModule(Protocol):
    """What a command's module has to have."""

    def add_arguments(self, parser: Parser) -> None:
        """Declare options and operands on `parser`."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it and return the exit status; raise NearfarError or InputError to fail."""


@dataclass(frozen=True)
class Command:
    """A command's name, its module in `nearfar.cli`, and one line of help."""

    name: str
    module: str
    help: str

    def load(self) -> CommandModule:
        """Import the module; only the command that runs pays for its imports."""
        return cast(CommandModule, importlib.import_module(f"nearfar.cli.{self.module}"))


COMMANDS = (
    Command("probe", "probe", "find out what is inside a memory: buffers, queues, wear levelling"),
    Command("measure", "measure", "one microbenchmark on a model: latency, bandwidth, tails"),
    Command("validate", "validate", "a model against published hardware measurements"),
    Command("predict", "predict", "programs on this machine and on a model: time beside time"),
    Command("replay", "replay", "a memory trace through a model"),
    Command("run", "run", "a real program on a simulated machine"),
    Command("sweep", "sweep.command", "explore a design space: many points, kept in a store"),
    Command("trace", "trace.command", "what a trace holds, and traces from one format to another"),
    Command("tier", "tier.command", "programs on a small near and a large far memory"),
    Command("vm", "vm.command", "virtual machines on a small near and a large far memory"),
    Command("crash", "crash", "what a loss of power can leave of a program, and whether it holds"),
    Command("infer", "infer", "what is inside a device, from saved measurements alone"),
    Command("fit", "fit", "a model from measurements: what they fix, and how well it predicts"),
    Command("compare", "compare", "two results side by side, and what differs beyond noise"),
    Command("report", "report", "a page from saved results"),
    Command("lib", "lib", "what a compiler needs to build the simulated memory into a program"),
    Command("model", "model", "list, show, check and export models"),
    Command("doctor", "doctor", "what this machine has, what is missing, how to mend it"),
    Command("completion", "completion", "print shell completion for bash, zsh or fish"),
)
