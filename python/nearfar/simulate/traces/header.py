"""The first line of a trace in nearfar's own format."""

from __future__ import annotations

import json
import re

# A backslash of its own, or the \xNN that stands for a byte that is no UTF-8.
_BACKSLASHES = re.compile(r"\\\\|\\(?=x)")


def header_of(line: str) -> dict[str, str | int]:
    """What a header line `nearfar-trace VERSION {JSON}` says, once the core has accepted it. Of
    another format's header, or of what is no JSON to others than the core, nothing."""
    _, brace, rest = line.partition("{")
    try:
        # The core takes control characters within strings.
        found = json.loads(_BACKSLASHES.sub(r"\\\\", brace + rest), strict=False) if brace else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
