"""Writes every preset in its exported form: export_models.py LISTS VERSION FOLDER.

Run while the package is built, for hosts that open a preset by its name without Python. LISTS is the
module `nearfar._lists`, which is not installed yet.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(lists: str, version: str, folder: Path) -> None:
    """Write a file NAME.model for each preset."""
    spec = importlib.util.spec_from_file_location("nearfar._lists", lists)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["nearfar._lists"] = module
    sys.path.insert(0, str(ROOT / "python"))
    from nearfar.model import load, presets

    folder.mkdir(parents=True, exist_ok=True)
    for name in presets():
        (folder / f"{name}.model").write_text(load(name).export_file(version), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
