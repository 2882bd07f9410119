"""Host instructions of a command, as valgrind's callgrind counts them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path


def instructions(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "callgrind.out"
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        subprocess.run([*callgrind, *command], capture_output=True, check=True)
        counted = re.search(r"^(?:summary|totals): (\d+)", output.read_text(), re.MULTILINE)
    if counted is None:
        raise RuntimeError(f"callgrind counted nothing for {' '.join(command)}")
    return int(counted.group(1))
