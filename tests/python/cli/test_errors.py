"""What is said of files that cannot be opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.errors import file_error, suggestion


def said_of(path: Path) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - any
        path.open()
    return str(file_error(path, caught.value))


def test_a_missing_file_is_reported_with_the_nearest_name_beside_it(tmp_path: Path) -> None:
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


def test_a_file_to_be_made_is_reported_without_other_names(tmp_path: Path) -> None:
    (tmp_path / "redis.faults").touch()
    error = FileNotFoundError(2, "No such file or directory")
    said = str(file_error(tmp_path / "redis.fault", error, new=True))
    assert said.endswith("redis.fault: No such file or directory")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("CLOCK", "clock"), ("lru", "lru-approx"), ("LRU", "lru-approx"), ("s3", "s3-fifo")],
)
def test_case_and_the_end_of_a_name_may_differ(word: str, meant: str) -> None:
    names = ("fifo", "clock", "lru-approx", "s3-fifo", "raminate", "regret")
    assert suggestion(word, names) == f"; did you mean {meant}?"
    assert suggestion("r", names) == suggestion("re-", names) == suggestion("", names) == ""
