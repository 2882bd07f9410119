"""Files that a command makes, and that must not be there before."""

from __future__ import annotations

import os
from pathlib import Path

from nearfar.errors import InputError, file_error


def create(name: str, mode: int) -> int:
    """Make a file to read and to write: its descriptor.

    `mode` has its permissions, before the umask. InputError if it is there or cannot be made.
    """
    try:
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        is_folder = Path(name).is_dir()
        raise InputError(
            f"{name}: found a folder, expected the name of a new file in it"
            if is_folder
            else f"{name}: is there already, perhaps as another's; expected the name of a new file"
        ) from None
    except OSError as error:
        raise file_error(name, error, new=True) from None
