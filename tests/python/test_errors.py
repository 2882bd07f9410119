"""What is said of files that cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import file_error


def said_of(path: Path) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - any
        path.open()
    return str(file_error(path, caught.value))


def test_a_missing_file_is_told_with_the_nearest_name_beside_it(tmp_path: Path) -> None:
    (tmp_path / "redis.faults").touch()
    missing = "No such file or directory"
    assert said_of(tmp_path / "redis.fault") == (
        f"{tmp_path}/redis.fault: {missing}; did you mean redis.faults?"
    )
    (tmp_path / "link").symlink_to("nowhere")
    assert said_of(tmp_path / "link").endswith(f"link: {missing}")
    assert said_of(tmp_path / "quite-another").endswith(f"quite-another: {missing}")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert said_of(tmp_path / "none" / "x").endswith(f"; there is no folder {tmp_path}/none")


def test_other_reasons_stand_alone_and_follow_what_failed(tmp_path: Path) -> None:
    assert said_of(tmp_path).endswith(": Is a directory")
    error = PermissionError(13, "Permission denied")
    assert str(file_error("x", error, "cannot write: ")) == "x: cannot write: Permission denied"
