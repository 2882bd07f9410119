"""Fuzz the readers that are Python's, or are reached through it: on the files of corpus/TARGET, and
on inputs made of them, the same ones for the same seed.

    readers.py [--runs N] [--seconds S] [--seed N] [--only N] [TARGET...]

Each target runs in a process of its own. Whatever a reader does that it must not ends it with a
line and status 1: an exception that is no NearfarError, more than 5 s for an input, more than a
gibibyte. The input is in the file crash-TARGET-NUMBER then, and --only NUMBER runs it again.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nearfar.errors import NearfarError

CORPUS = Path(__file__).parent / "corpus"
MOST_SECONDS = 5.0  # of the processor for an input, as the machine may be busy
MOST_WAIT = 60.0  # for what waits for another process
MOST_KIB = 1 << 20
MOST_BYTES = 8192
THROUGH_THE_COMMAND = 200  # every so-manieth input, where there is a command
SHOW_EVERY = 256

Reader = Callable[[bytes], None]

WORDS = (
    *(b"0x", b"\n", b"\r\n", b" ", b",", b":", b"=", b"[", b"]", b"{", b"}", b'"', b"\\", b"\0"),
    *(b"null", b"true", b"NaN", b"1e999", b"-1", b"0", b"18446744073709551616", b"9" * 400),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"READ", b"WRITE", b"LD ", b"NVMV1\n", b"gem5"),
    *(b"nearfar-trace 1 {", b"\x1f\x8b", b"BZh9", b"PK\x03\x04", b"\xfd7zXZ\x00"),
    *(b"\x28\xb5\x2f\xfd", b"GiB", b"ns", b"MT/s", b"schema", b"label", b"store", b"mfence"),
    *(b"thread", b"NEARFAR_TIER_NEAR=", b"NEARFAR_TIER_"),
)


class BrokenError(Exception):
    """A reader did what it must not."""


class _TooLong(BaseException):
    """Took more than MOST_SECONDS."""


def mutated(seeds: list[bytes], rng: random.Random) -> bytes:
    """An input made of the seeds."""
    data = bytearray(rng.choice(seeds))
    # Text that stays text gets further.
    values = range(32, 127) if rng.randrange(3) else range(256)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
        at = rng.randint(0, len(data))
        what = rng.randrange(9)
        if what == 0 and data:
            data[rng.randrange(len(data))] = rng.choice(values)
        elif what == 1 and data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(7 if len(values) < 256 else 8)
        elif what == 2:
            data[at:at] = bytes(rng.choice(values) for _ in range(rng.randint(1, 4)))
        elif what == 3:
            del data[at : at + rng.randint(1, 16)]
        elif what == 4:
            data[at:at] = rng.choice(WORDS)
        elif what == 5:
            other = rng.choice(seeds)
            start = rng.randint(0, len(other))
            data[at:at] = other[start : start + rng.randint(1, 64)]
        elif what == 6:
            start = rng.randint(0, len(data))
            data[at:at] = data[start : start + rng.randint(1, 200)]
        elif what == 7:
            del data[at:]
        else:
            data[at:at] = b"%d" % rng.randrange(10 ** rng.randint(1, 25))
    return bytes(data[:MOST_BYTES])


# The readers


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """What a reader may raise."""
    with contextlib.suppress(NearfarError):
        yield


def of_file(folder: Path, name: str, read: Callable[[Path], object], *command: str) -> Reader:
    """A reader of a file of that name; now and then by a command line, FILE standing for it."""
    path = folder / name
    count = 0

    def run(data: bytes) -> None:
        nonlocal count
        count += 1
        path.write_bytes(data)
        with refusals():
            read(path)
        if command and count % THROUGH_THE_COMMAND == 0:
            by_command([str(path) if word == "FILE" else word for word in command])

    return run


def by_command(words: list[str]) -> None:
    """What `nearfar WORDS` does with bad input: one line and status 2."""
    from nearfar.cli import main as cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(words)
    lines = err.getvalue().splitlines()
    if status not in (0, 1, 2):
        raise BrokenError(f"{' '.join(words)}: status {status}")
    if status == 2 and (len(lines) != 1 or not lines[0].startswith("nearfar: ")):
        raise BrokenError(f"{' '.join(words)}: status 2 and {lines[:3]}, expected one line")


def trace(folder: Path) -> Reader:
    """Traces of every format, plain and packed: what they hold, and in our own format."""
    import nearfar
    from nearfar.simulate.traces.formats import readable

    formats, turn = readable(), 0
    path, output = folder / "t.trace", folder / "out.nft"

    def read(path: Path) -> None:
        nonlocal turn
        turn += 1
        format = "auto" if turn % 2 else formats[turn // 2 % len(formats)]
        nearfar.trace_info(path, format=format)
        if turn % 3 == 0:
            nearfar.convert_trace(path, output, nearfar.ConvertOptions(format=format))
        if turn % 50 == 0:
            nearfar.replay("model:ddr4-2666", path, nearfar.ReplayOptions(format=format))
        if turn % 10 == 0:
            nearfar.tier_replay(path, policies=["fifo"], near=["50%"], format=format)

    return of_file(folder, path.name, read, "trace", "info", "FILE")


def model(folder: Path) -> Reader:
    """Model files."""
    from nearfar.model import load

    return of_file(folder, "m.toml", lambda path: load(path).export(), "model", "check", "FILE")


def result(folder: Path) -> Reader:
    """Results of every kind."""
    from nearfar.results import load

    return of_file(folder, "r.json", load, "report", "FILE", "-o", str(folder / "page.html"))


def curve(folder: Path) -> Reader:
    """Tables and other tools' output to infer from, as far as they are read; now and then all of
    what follows.
    """
    from nearfar.probing import saved

    turn = 0

    def read(path: Path) -> None:
        nonlocal turn
        turn += 1
        other = path.with_suffix(".txt")
        shutil.copyfile(path, other)
        saved._observations(other if turn % 2 else path, "c")

    return of_file(folder, "c.csv", read, "infer", "FILE")


def faults(folder: Path) -> Reader:
    """Records of faults."""
    import nearfar
    from nearfar.results.faults import read_faults

    def read(path: Path) -> None:
        record = read_faults(path)
        for process in record.processes():
            list(record.events(process))
        nearfar.tier_replay(path, policies=["fifo"], near=["50%"])

    return of_file(folder, "f.faults", read, "tier", "replay", "FILE")


def crash(folder: Path) -> Reader:
    """Programs for `nearfar crash`."""
    from nearfar.simulate import CrashProgram

    return of_file(
        folder, "p.txt", CrashProgram.load, "crash", "model:optane-100", "FILE", "--runs", "0",
        "--max-states", "16",
    )  # fmt: skip


def control(_: Path) -> Reader:
    """Both ends of the control socket: what a launcher is asked, and what it answers."""
    from nearfar.tier import client, server
    from nearfar.tier.tree import Tree, check_near, checked_share

    class Still(Tree):
        """A tree that is not there: what is asked of it is checked, and nothing waited for."""

        def stats(self) -> dict[str, object]:
            return {"process": self.process}

        def set_near(self, near_bytes: object, millionths: object = None) -> dict[str, object]:
            check_near(near_bytes)
            checked_share(self.process, millionths, flat=True)
            return {}

        def pause(self) -> dict[str, object]:
            return {}

        def resume(self) -> dict[str, object]:
            return {}

    memory = os.memfd_create("control")
    os.ftruncate(memory, 1 << 20)
    tree = Still(memory, -1, os.getpid(), "program")

    def run(data: bytes) -> None:
        line = data.split(b"\n")[0][: server.LONGEST] + b"\n"
        reply = server._reply(line, tree)
        if "internal error" in str(reply.get("error")):
            raise BrokenError(str(reply["error"]))
        json.dumps(reply)
        with refusals(), contextlib.suppress(ConnectionError):
            client.parse_reply(line)

    return run


def environment(folder: Path) -> Reader:
    """NEARFAR_TIER_*, as the library reads them in a program."""
    from nearfar.tier.machine import preloaded

    library, far = str(preloaded()), folder / "far"
    program = shutil.which("true") or "/bin/true"
    errors = folder / "stderr"
    folder_now = os.open(".", os.O_RDONLY)

    def run(data: bytes) -> None:
        far.mkdir(exist_ok=True)
        given = {}
        for line in data.split(b"\n"):
            name, equals, value = line.replace(b"\0", b"").partition(b"=")
            if equals and name:
                given[os.fsdecode(name)] = os.fsdecode(value)
        given["LD_PRELOAD"] = library
        status, said = spawned(program, given, far, errors, folder_now)
        lines = said.splitlines()
        if status not in (0, 1, 2):
            raise BrokenError(f"status {status}: {said[:200]!r}")
        if status != 0 and len(lines) != 1:
            raise BrokenError(f"status {status} and {lines[:3]}, expected one line")

    return run


def spawned(
    program: str, variables: Mapping[str, str], folder: Path, errors: Path, back: int
) -> tuple[int, bytes]:
    """Run a program in `folder`; its status and what it said on standard error."""
    os.chdir(folder)
    try:
        opened = (os.POSIX_SPAWN_OPEN, 2, str(errors), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        process = os.posix_spawn(program, [program], dict(variables), file_actions=[opened])
        try:
            _, how = os.waitpid(process, 0)
        except BaseException:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise
    finally:
        os.chdir(back)
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            file.unlink()
    return os.waitstatus_to_exitcode(how), errors.read_bytes()


TARGETS: dict[str, Callable[[Path], Reader]] = {
    "trace": trace,
    "model": model,
    "result": result,
    "curve": curve,
    "faults": faults,
    "crash": crash,
    "control": control,
    "environment": environment,
}
# Of which an input costs a process.
SLOW = {"environment": 20}


# Running them


def _run(reader: Reader, data: bytes, number: int) -> str | None:
    """Why the input broke the reader, if it did."""
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, MOST_WAIT)
    try:
        reader(data)
    except _TooLong:
        return f"took more than {MOST_SECONDS:g} s"
    except BaseException as error:  # everything else is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    if number % SHOW_EVERY == 0:
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if kib > MOST_KIB:
            return f"{kib >> 10} MiB resident, more than {MOST_KIB >> 10}"
    return None


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def fuzz(name: str, args: argparse.Namespace) -> int:
    """Run one target; 1 if an input broke it."""

    def on_alarm(*_: object) -> None:
        raise _TooLong

    os.environ["NEARFAR_TRACEBACK"] = "1"
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGPROF, on_alarm)
    files = sorted((CORPUS / name).iterdir())
    seeds = [file.read_bytes() for file in files]
    end = time.monotonic() + args.seconds
    runs = -(-args.runs // SLOW.get(name, 1))
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as place:
        reader = TARGETS[name](Path(place))
        number = 0
        while number - len(seeds) < runs and time.monotonic() < end:
            if number < len(seeds):
                data = seeds[number]
            else:
                data = mutated(seeds, random.Random(f"{args.seed} {name} {number}"))
            if args.only is None or number == args.only:
                if number % SHOW_EVERY == 0:  # what Python cannot interrupt ends the process
                    faulthandler.dump_traceback_later(SHOW_EVERY * MOST_WAIT, exit=True)
                if why := _run(reader, data, number):
                    kept = Path(f"crash-{name}-{number}")
                    kept.write_bytes(data)
                    say(f"{name}: input {number} of seed {args.seed}, in {kept}: {why}")
                    return 1
            number += 1
    say(f"{name}: {len(seeds)} files and {max(number - len(seeds), 0)} inputs made of them")
    return 0


def main() -> int:
    """Run the targets, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("targets", metavar="TARGET", nargs="*", choices=[*TARGETS, []])
    parser.add_argument("--runs", type=int, default=1000, help="inputs made for each target")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each target at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this input alone")
    args = parser.parse_args()
    failed = False
    for name in args.targets or TARGETS:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                status = fuzz(name, args)
            except BaseException:  # of the harness itself
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, how = os.waitpid(process, 0)
        if code := os.waitstatus_to_exitcode(how):
            failed = True
            if code < 0:
                say(f"{name}: ended by signal {-code}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
