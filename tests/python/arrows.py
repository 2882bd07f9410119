"""Reads which room uses which, in C++ and in Python, and says which uses are forbidden.

The rooms and the arrows between them are written down once, here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# A room of core/ and what it may include besides itself. Of several rooms that contain a
# file the innermost counts; an entry ending in .h allows that one header.
CPP_ROOMS: dict[str, tuple[str, ...]] = {
    "base": (),
    "trace": ("base",),
    "sim": ("base", "trace"),
    "sim/dram": ("base", "sim"),
    "sim/nvdimm": ("base", "sim", "sim/dram"),
    "sim/imc": ("base", "sim", "sim/dram", "sim/nvdimm"),
    "sim/link": ("base", "sim"),
    "sim/persistence": ("base", "sim"),
    "sim/cpu": ("base", "sim/request.h", "sim/device.h"),
    "sim/machine": ("base", "trace", "sim", "sim/*"),
    "probe": ("base",),
    "policy": ("base",),
    "tier": ("base", "policy"),
    "tier/swap": ("base", "policy", "tier"),
    "tier/attach": ("base", "policy", "tier", "tier/swap"),
    "frontend": ("base", "trace", "sim", "sim/*", "policy"),
    "library": ("base", "sim", "sim/machine"),
    "bindings": (
        *("base", "trace", "sim", "sim/*", "probe", "policy", "tier/swap", "library"),
        *("tier/attach", "frontend"),
    ),
    "bindings/lists": ("base", "policy", "sim/machine", "tier"),
}

# A room of python/nearfar/ and the rooms it may import besides itself. Modules that lie
# beside the rooms (errors, resources) are open to all of them.
PYTHON_ROOMS: dict[str, tuple[str, ...]] = {
    "model": (),
    "results": (),
    "inference": ("results",),
    "measuring": ("model", "results"),
    "simulate": ("model", "results", "measuring"),
    "probing": ("model", "results", "inference", "measuring"),
    "fitting": ("model", "results", "inference", "measuring", "probing", "simulate"),
    "predicting": ("model", "results", "measuring", "simulate"),
    "sweeping": ("model", "results", "measuring", "simulate", "predicting"),
    "tier": ("results",),
    "vm": ("tier",),
    "report": ("results", "inference"),
    "cli": (
        *("model", "results", "inference", "measuring", "probing", "simulate"),
        *("fitting", "predicting", "sweeping", "tier", "vm", "report"),
    ),
}

# Rooms that may import the compiled core.
CORE_USERS = ("measuring", "simulate", "tier")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, order=True)
class Arrow:
    """One use: the file that makes it and what it uses."""

    file: str
    target: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file} uses {self.target}: {self.reason}"


def cpp_room(path: str) -> str | None:
    """The innermost room of a path relative to core/."""
    inside = [room for room in CPP_ROOMS if path.startswith(room + "/")]
    return max(inside, key=len, default=None)


def forbidden_includes(core: Path) -> Iterator[Arrow]:
    """Every include in `core` that no arrow allows, or that leads outside the rooms."""
    for file in sorted([*core.rglob("*.h"), *core.rglob("*.cpp")]):
        name = file.relative_to(core).as_posix()
        room = cpp_room(name)
        if room is None:
            yield Arrow(name, "-", "lies in no room")
            continue
        for target in INCLUDE.findall(file.read_text(encoding="utf-8")):
            target_room = cpp_room(target)
            if target_room is None or not (core / target).is_file():
                yield Arrow(name, target, "is not a file of a room, named from core/")
            elif not _may_include(room, target_room, target):
                yield Arrow(name, target, f"{room} may not use {target_room}")


def _may_include(room: str, target_room: str, target: str) -> bool:
    allowed = CPP_ROOMS[room]
    inner = "sim/*" in allowed and target_room.startswith("sim/")
    return room == target_room or target_room in allowed or target in allowed or inner


def forbidden_imports(package: Path) -> Iterator[Arrow]:
    """Every import in the package `nearfar` that no arrow allows."""
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).parts
        if len(parts) == 1:
            continue
        room, name = parts[0], "/".join(parts)
        if room not in PYTHON_ROOMS:
            yield Arrow(name, "-", "lies in no room")
            continue
        for module in imported_modules(file, package):
            if module.split(".")[0] != "nearfar":
                if room == "inference" and module.split(".")[0] in FILES_AND_PROCESSES:
                    yield Arrow(name, module, "inference is pure: no files, no processes")
                continue
            target = [*module.split("."), ""][1]
            if target == "_core" and room not in CORE_USERS:
                yield Arrow(name, module, f"{room} may not use the compiled core")
            elif target == "":
                yield Arrow(name, module, "name the module that is meant")
            elif target in PYTHON_ROOMS and target not in (room, *PYTHON_ROOMS[room]):
                yield Arrow(name, module, f"{room} may not use {target}")


FILES_AND_PROCESSES = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "sys", "tempfile"}


def imported_modules(file: Path, package: Path) -> Iterator[str]:
    """Absolute names of what `file` imports, wherever in it the import stands."""
    package_parts = ["nearfar", *file.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package_parts[: len(package_parts) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "nearfar":
                yield from (f"nearfar.{alias.name}" for alias in node.names)
            else:
                yield module


def prints(package: Path) -> Iterator[Arrow]:
    """Every call of print, or use of the standard streams, outside cli."""
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if name.startswith("cli/"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                yield Arrow(name, "print", "only cli prints")
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "sys.stdout",
                "sys.stderr",
            ):
                yield Arrow(name, ast.unparse(node), "only cli prints")
