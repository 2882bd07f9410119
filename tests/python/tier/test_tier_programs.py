"""Real programs print on two tiers what they print natively, at a quarter and a twentieth.

At a twentieth most of them take long: NEARFAR_NIGHTLY=1 (`make stress`) runs those as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiered import FORKS, MIB, PROGRAMS, Tiered, command, compiled, needs_tier, run_tiered

pytestmark = needs_tier

Words = list[str | Path]
NIGHTLY = os.environ.get("NEARFAR_NIGHTLY") == "1"


@dataclass(frozen=True)
class Program:
    """What to run in a folder, and near memory for a quarter and a twentieth of its own, in KiB."""

    words: Callable[[Path], Words]
    quarter: int
    twentieth: int
    quick: bool = False  # at a twentieth
    needs: str = "sh"
    least_managed: float = 0.9


DATABASE = """
import sqlite3
base = sqlite3.connect(":memory:")
base.execute("create table t (k integer primary key, v text, n integer)")
rows = ((i, f"value {i} " * 60, i * 7919 % 1009) for i in range(30000))
base.executemany("insert into t values (?, ?, ?)", rows)
base.execute("create index by_n on t (n)")
print(base.execute("select sum(k), count(*) from t where n between 10 and 900").fetchone())
base.execute("update t set v = v || 'x' where k % 3 = 0")
base.execute("delete from t where k % 5 = 0")
print(base.execute("select k % 97 as g, count(*), sum(length(v)) from t group by g").fetchall())
print(base.execute("pragma integrity_check").fetchone())
"""

FUNCTION = """
struct s{0} {{ int a[{1}]; struct s{0} *next; }};
int f{0}(struct s{0} *p, int n) {{
  int sum = {0};
  for (int i = 0; i < n; ++i) {{
    sum += p->a[i % {1}] * (i ^ {0});
    if (sum % 7 == {2}) p = p->next;
    switch (sum & 3) {{
      case 0: sum ^= n; break;
      case 1: sum -= i * {0}; break;
      default: sum += 2;
    }}
  }}
  return sum;
}}
"""


def _python(code: str) -> Callable[[Path], Words]:
    return lambda _: [sys.executable, "-c", code]


def _sort(folder: Path) -> Words:
    lines = folder / "lines"
    lines.write_text("".join(f"{i * 7919 % 1000003} line {i}\n" for i in range(270000)))
    return ["sort", "--parallel=2", "-S", "100M", lines]


def _gcc(folder: Path) -> Words:
    source = folder / "functions.c"
    source.write_text("".join(FUNCTION.format(i, i % 13 + 2, i % 7) for i in range(220)))
    compiler = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return [compiler, "-quiet", "-O1", source, "-o", "-"]


def _openmp(folder: Path) -> Words:
    source = PROGRAMS / "programs" / "mapreduce.c"
    return [compiled(source, folder / "mapreduce", "-O2", "-fopenmp")]


def _java(folder: Path) -> Words:
    subprocess.run(["javac", "-d", folder, PROGRAMS / "programs" / "Heap.java"], check=True)
    return ["java", "-Xmx120m", "-XX:+UseSerialGC", "-Xshare:off", "-cp", folder, "Heap"]


def _repository(folder: Path) -> Path:
    """Twelve changes of four files."""
    repository = folder / "repository"
    when = {"GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z"}
    no_files = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    names = {
        f"GIT_{kind}_{what}": "a" for kind in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }

    def git(*words: str) -> None:
        environment = os.environ | when | no_files | names
        subprocess.run(["git", "-C", repository, *words], check=True, env=environment)

    repository.mkdir()
    git("init", "-q", "-b", "main")
    for change in range(12):
        for file in "abcd":
            lines = (f"{i} {file}\n" for i in range(change * 1000, change * 1000 + 60000))
            (repository / file).write_text("".join(lines))
        git("add", ".")
        git("commit", "-qm", f"change {change}")
    return repository


def _git(folder: Path) -> Words:
    script = (
        "git -c pack.threads=1 repack -adfq --window=4 && git log --format=%H && git fsck --full "
        "&& git archive HEAD | cksum"
    )
    return ["sh", "-c", f"cd '{_repository(folder)}' && {script}"]


PROGRAMS_RUN = {
    "python-forks": Program(_python(FORKS), 10500, 2000),
    "sqlite": Program(_python(DATABASE), 5000, 1400),
    "sort": Program(_sort, 5200, 1024),
    "gcc": Program(_gcc, 6600, 1300, needs="gcc"),
    "openmp": Program(_openmp, 8192, 1650, quick=True, needs="gcc"),
    # Besides its heap: the virtual machine's own data and classes, compiled code, threads' stacks.
    "java": Program(_java, 15000, 3000, needs="javac", least_managed=0.75),
    "git": Program(_git, 8192, 2048, needs="git"),
}


def _cases() -> Iterator[object]:
    for name, program in PROGRAMS_RUN.items():
        yield pytest.param(name, 4, id=f"{name}-quarter")
        if NIGHTLY or program.quick:
            yield pytest.param(name, 20, id=f"{name}-twentieth")


@pytest.mark.parametrize(("name", "times"), _cases())
def test_a_program_does_what_it_does_natively(tmp_path: Path, name: str, times: int) -> None:
    program = PROGRAMS_RUN[name]
    if shutil.which(program.needs) is None:
        pytest.skip(f"no {program.needs} (for javac: apt-get install default-jdk-headless)")
    near = program.quarter if times == 4 else program.twentieth
    settings = {"text": False, "env": os.environ | {"LC_ALL": "C"}}
    settings |= {"timeout": 1200} if NIGHTLY else {}
    first, second = tmp_path / "native", tmp_path / "tiered"
    first.mkdir()
    second.mkdir()
    expected = subprocess.run(
        program.words(first), capture_output=True, check=True, env=settings["env"]
    ).stdout
    ran = run_tiered(second, f"{near}KiB", *program.words(second), **settings)
    assert ran.status == 0, ran.err
    assert ran.out == expected
    assert ran.counts["evictions"] > 0
    assert ran.counts["managed_peak_bytes"] >= times * near * 1024
    assert ran.counts["near_peak_bytes"] <= near * 1024 + MIB
    assert ran.counts["managed_share"] >= program.least_managed


class Redis:
    """A redis server's socket, and its commands."""

    def __init__(self, path: Path, server: subprocess.Popen[str]) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(600):
            try:
                self.socket.connect(str(path))
                break
            except OSError:
                assert server.poll() is None
                time.sleep(0.05)
        self.answers = self.socket.makefile("rb")

    def send(self, commands: Sequence[Sequence[str]]) -> list[str]:
        """Send commands at once; the first lines of their answers."""
        for words in commands:
            parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            self.socket.sendall(f"*{len(words)}\r\n{parts}".encode())
        return [self._answer() for _ in commands]

    def one(self, *words: str) -> str:
        return self.send([words])[0]

    def _answer(self) -> str:
        line = self.answers.readline().decode().strip()
        if line.startswith("$"):
            return self.answers.read(int(line[1:]) + 2).decode().strip()
        return line.lstrip("+:")


@contextmanager
def redis(folder: Path, prefix: Sequence[str | Path]) -> Iterator[Redis]:
    path = folder / "socket"
    words = [*prefix, "redis-server", "--port", "0", "--unixsocket", path, "--dir", folder,
             "--save", "", "--enable-debug-command", "yes", "--logfile", "log"]  # fmt: skip
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        client = Redis(path, server)
        yield client
        client.socket.sendall(b"SHUTDOWN NOSAVE\r\n")
        _, err = server.communicate(timeout=60)
        assert server.returncode == 0, err
    finally:
        server.kill()
        with server:
            pass


def _value(seed: int) -> str:
    return hashlib.sha256(str(seed).encode()).hexdigest() * 16


def _saves_under_writes(folder: Path, prefix: Sequence[str | Path]) -> tuple[str, str]:
    """What a server holds after writes during a save, and what a server loads from the save."""
    folder.mkdir(exist_ok=True)
    keys = 20000
    with redis(folder, prefix) as server:
        for start in range(0, keys, 500):
            server.send([("SET", f"key:{i}", _value(i)) for i in range(start, start + 500)])
        before = server.one("DEBUG", "DIGEST")
        assert "started" in server.one("BGSAVE")
        for start in range(0, keys, 500):
            rounds = range(start, start + 500, 3)
            server.send([("SET", f"key:{i}", _value(-i)) for i in rounds])
        while "rdb_bgsave_in_progress:1" in server.one("INFO", "persistence"):
            time.sleep(0.02)
        assert "rdb_last_bgsave_status:ok" in server.one("INFO", "persistence")
        after = server.one("DEBUG", "DIGEST")
    with redis(folder, []) as loaded:
        assert loaded.one("DEBUG", "DIGEST") == before
    return before, after


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server")
def test_redis_saves_what_it_held_while_it_is_written_to(tmp_path: Path) -> None:
    expected = _saves_under_writes(tmp_path / "native", [])
    folder = tmp_path / "tiered"
    folder.mkdir()
    result, far = folder / "result.json", folder / "far"
    prefix = command("8MiB", far, result=result)
    assert _saves_under_writes(folder, prefix) == expected
    ran = Tiered(subprocess.CompletedProcess(prefix, 0, "", ""), result).covered()
    assert ran.counts["managed_peak_bytes"] >= 4 * 8 * MIB
    assert ran.counts["forks"] >= 1
