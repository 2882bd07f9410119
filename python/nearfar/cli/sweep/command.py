"""`nearfar sweep STUDY|TARGET`, `nearfar sweep show STORE`: a design space, explored and shown."""

from __future__ import annotations

from nearfar.cli.parser import Parser
from nearfar.cli.verbs import add_verbs, run_verb

VERBS = {
    "run": "compute the points of a study that its store does not have; `run` may be left out",
    "show": "what a store has: a table, CSV, Parquet, a page",
}

run = run_verb


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    add_verbs(parser, "sweep", VERBS)
    parser.default_command = "run"
