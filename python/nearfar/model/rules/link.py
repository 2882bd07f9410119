"""Links that no machine can have."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.model.rules.machine import Problem, Values


def problems(values: Values) -> Iterator[Problem]:
    """Every rule on the link that the values break, in a fixed order."""
    if values["link.kind"] == "none":
        return
    if values["link.place"] == "far" and values["near.kind"] == "none":
        yield Problem("link.place", ("near.kind",), "memory, there being no near memory")
    kept = values["link.directory.kept"]
    if kept != "none" and values["link.kind"] != "numa":
        expected = "none: only another socket's memory keeps one there"
        yield Problem("link.directory.kept", ("link.kind",), expected)
    if kept == "none" and values["link.directory.seen"]:
        expected = "0, there being no directory that could have seen it"
        yield Problem("link.directory.seen", ("link.directory.kept",), expected)
