"""Where the files that come with the package are: presets, reference measurements, studies."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def folder(name: str) -> Traversable:
    """The folder ``models``, ``reference`` or ``studies`` of this installation.

    An installed package carries them inside itself; a checkout that is imported in place
    (an editable installation) has them at its root.

    Raises FileNotFoundError if neither place has it, which means a broken installation.
    """
    installed = files("nearfar").joinpath(name)
    if installed.is_dir():
        return installed
    checkout = Path(__file__).resolve().parents[2] / name
    if checkout.is_dir():
        return checkout
    raise FileNotFoundError(f"{name}/ is missing from this installation of nearfar; reinstall it")
