"""Packages that only some sweeps need, imported when one does."""

from __future__ import annotations

import importlib
from typing import Any

from nearfar.errors import InputError


def extra(module: str, what: str, install: str) -> Any:
    """The module. Raises InputError: `what` needs it, and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise InputError(f"{what} needs {package}: pip install '{install}'") from None
