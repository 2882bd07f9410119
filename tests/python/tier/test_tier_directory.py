"""Where launchers listen: a socket that can be seen answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from nearfar.tier import directory


def test_a_socket_listens_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that refuses is taken for that of a launcher that has ended, and removed."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    renamed = Path.rename
    named = []

    def rename(self: Path, target: Path) -> Path:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(self))
        named.append(target.name)
        return renamed(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with directory.listening("7.sock", "a test") as place:
        path = place.path
        assert named == ["7.sock"]
        assert directory.launchers(path.parent) == [7]
        assert [one.name for one in path.parent.iterdir()] == ["7.sock"]
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(path))
    assert list(path.parent.iterdir()) == []
