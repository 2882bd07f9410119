"""Guests of one sector for QEMU, which the BIOS loads and starts: assembled, and talked to.

QEMU checks no segment's limit, so such a guest reaches memory beyond the first MiB as it is.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearfar.tier.machine import obstacle

QEMU = "qemu-system-x86_64"
MIB = 1 << 20
_WORD = (1 << 32) - 1
_OBSTACLE = obstacle()

needs_qemu = pytest.mark.skipif(
    shutil.which(QEMU) is None or not sys.platform.startswith("linux"), reason=f"no {QEMU}"
)
needs_machines = pytest.mark.skipif(
    _OBSTACLE is not None or shutil.which(QEMU) is None, reason=str(_OBSTACLE or f"no {QEMU}")
)

# Does what it is given, in lines of these two macros, and turns itself off.
SWEEPS = """
    .intel_syntax noprefix
    .code16
    .macro say text
    mov si, offset \\text
1:  lodsb
    test al, al
    jz 2f
    out dx, al
    jmp 1b
2:
    .endm
    .macro sweep from, bytes, times, instruction:vararg
    mov ecx, \\times
3:  mov ebx, \\from
4:  \\instruction
    add ebx, 64
    cmp ebx, \\from + \\bytes
    jb 4b
    dec ecx
    jnz 3b
    .endm
    .org 0
    cli
    xor ax, ax
    mov ds, ax
    mov dx, 0x3f8
    %s
    mov dx, 0x604
    mov ax, 0x2000
    out dx, ax
5:  hlt
    jmp 5b
begin: .asciz "nearfar region begin\\n"
end: .asciz "nearfar region end\\n"
    .org 510
    .word 0xaa55
"""

# Writes each 64th byte's place times a number all over its memory, says "r", and then does what it
# is told, letter by letter: s, pass over all of it, adding one to each word, and print their sum;
# b, pass over all of it again and again until there is another letter; q, turn off.
HOLDS = """
    .intel_syntax noprefix
    .code16
    .org 0
    cli
    xor ax, ax
    mov ds, ax
    mov ss, ax
    mov sp, 0x7c00
    mov ebx, {begin}
1:  imul eax, ebx, {factor}
    mov dword ptr [ebx], eax
    add ebx, 64
    cmp ebx, {end}
    jb 1b
    mov al, 'r'
    call say
    call new_line
next:
    call is_told
    jz next
    mov dx, 0x3f8
    in al, dx
    cmp al, 's'
    je sum
    cmp al, 'b'
    je busy
    cmp al, 'q'
    jne next
    mov dx, 0x604
    mov ax, 0x2000
    out dx, ax
off: hlt
    jmp off
sum:
    xor edi, edi
    mov ebx, {begin}
2:  rol edi, 5
    add edi, dword ptr [ebx]
    inc dword ptr [ebx]
    add ebx, 64
    cmp ebx, {end}
    jb 2b
    mov cx, 8
3:  rol edi, 4
    mov ax, di
    and al, 15
    add al, '0'
    cmp al, '9'
    jbe 4f
    add al, 39
4:  call say
    loop 3b
    call new_line
    jmp next
busy:
    mov ebx, {begin}
5:  mov eax, dword ptr [ebx]
    add ebx, {stride}
    cmp ebx, {end}
    jb 5b
    call is_told
    jz busy
    jmp next
new_line:
    mov al, 10
say:
    mov dx, 0x3f8
    out dx, al
    ret
is_told:
    mov dx, 0x3fd
    in al, dx
    test al, 1
    ret
    .org 510
    .word 0xaa55
"""
_FACTOR = 0x9E3779B1


def assembled(folder: Path, text: str, name: str = "guest") -> Path:
    """The disk that a guest's text makes."""
    source, made, linked, disk = (folder / f"{name}.{end}" for end in ("s", "o", "elf", "img"))
    source.write_text(text)
    subprocess.run(["as", "--32", "-o", made, source], check=True)
    link = ["ld", "-m", "elf_i386", "-Ttext", "0x7c00", "-e", "0x7c00"]
    subprocess.run([*link, "-o", linked, made], check=True)
    subprocess.run(["objcopy", "-O", "binary", linked, disk], check=True)
    return disk


def machine(disk: Path, memory_mib: int = 64) -> list[str]:
    """QEMU's words for an interpreted machine that starts from a disk, its serial line on the
    command's streams."""
    return [
        *(QEMU, "-accel", "tcg", "-m", f"{memory_mib}M", "-display", "none", "-nic", "none"),
        *("-no-reboot", "-serial", "stdio", "-drive", f"format=raw,file={disk},snapshot=on"),
    ]


def holder(folder: Path, begin_mib: int = 8, end_mib: int = 32, stride: int = 64) -> Path:
    """The disk of a guest that holds its memory between two places; `stride` is that of its busy
    loop."""
    text = HOLDS.format(begin=begin_mib * MIB, end=end_mib * MIB, factor=_FACTOR, stride=stride)
    return assembled(folder, text, f"holds-{begin_mib}-{end_mib}-{stride}")


@functools.cache
def expected_sum(passes: int, begin_mib: int = 8, end_mib: int = 32) -> str:
    """What such a guest prints as its sum, after so many passes before."""
    total = 0
    for at in range(begin_mib * MIB, end_mib * MIB, 64):
        total = (total << 5 | total >> 27) + at * _FACTOR + passes & _WORD
    return f"{total:08x}"


class Guest:
    """A guest that holds memory, and runs by some command."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def begun(self) -> Guest:
        """Itself, when it has written all of its memory."""
        line = self.line()
        if line != "r":
            out, err = self.process.communicate()
            raise AssertionError(f"status {self.process.returncode}: {line}\n{out}\n{err}")
        return self

    def tell(self, letter: str) -> None:
        """Have it do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(letter)
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def sum(self) -> str:
        """The sum of its memory."""
        self.tell("s")
        return self.line()

    def end(self) -> tuple[int, str]:
        """Have it turn itself off: the command's status, and its standard error."""
        self.tell("q")
        _, err = self.process.communicate()
        return self.process.returncode, err


@contextmanager
def started(
    words: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> Iterator[Guest]:
    """Start a guest by a command line; it is killed if it has not ended by then."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        try:
            yield Guest(process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate()


def vm_run(*options: str | Path, qemu: Sequence[str]) -> list[str | Path]:
    """The command line of a machine on two tiers."""
    return [sys.executable, "-m", "nearfar", "vm", "run", *options, "--", *qemu]
