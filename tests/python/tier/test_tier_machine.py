"""What this machine lacks for programs on two tiers is told apart."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nearfar.tier import machine
from nearfar.tier.machine import allocator, obstacle


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the dynamic linker that is not there yet."""
    cache = tmp_path / "ld.so.cache"
    monkeypatch.setattr(machine, "_CACHE", cache)
    return cache


def test_the_allocator_is_found_by_the_linker_s_cache(cache: Path) -> None:
    cache.write_bytes(b"head\0libmimalloc.so.2\0/usr/lib/libmimalloc.so.2.0\0")
    assert allocator() == "libmimalloc.so.2"


def test_an_allocator_that_is_in_no_cache_is_asked_of_the_linker(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_ALLOCATORS", ("libnone.so.2", "libc.so.6"))
    assert allocator() == "libc.so.6"
    cache.write_bytes(b"head\0libc.so.6\0")
    assert allocator() == "libc.so.6"


@pytest.mark.usefixtures("cache")
def test_an_allocator_that_is_nowhere_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_ALLOCATORS", ("libnone.so.2",))
    monkeypatch.setattr(machine, "library", lambda: Path(__file__))
    assert allocator() is None
    assert "mimalloc is not installed" in str(obstacle())


@pytest.mark.parametrize("part", ["allocator", "evictions"])
def test_too_many_open_files_are_no_lack_of_anything_else(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(**_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(machine, "library", lambda: Path(__file__))
    monkeypatch.setattr(machine, "allocator", lambda: "libmimalloc.so.2")
    monkeypatch.setattr(machine, part, fail)
    assert str(obstacle()) == "too many open files; to mend it: ulimit -n 64, or more"
