"""Where each key of a TOML text stands: tomllib checks and reads the file, but keeps no lines.

The scanner runs on text that tomllib has accepted, so it only has to follow the syntax,
not to check it.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]+")
# From behind the opening quotes of a string to behind the closing ones.
_REST = {
    "'": re.compile(r"[^']*'"),
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"'),
    "'''": re.compile(r".*?'''", re.DOTALL),
    '"""': re.compile(r'(?:[^\\]|\\.)*?"""', re.DOTALL),
}


def key_lines(text: str) -> dict[Path, int]:
    """The line, counted from 1, of each key and table header in valid TOML.

    Keys of inline tables are included. Of a name that appears more than once (tables of an
    array, tables made by dotted keys) the first line is kept.
    """
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[Path, int] = {}

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip_blank()
        while self._at < len(self._text):
            if self._next() == "[":
                table = self._header()
            else:
                self._key_value(table)
            self._skip_blank()
        return self._lines

    def _header(self) -> Path:
        line = self._line()
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        table = self._key()
        self._at += brackets
        self._record(table, line)
        return table

    def _key_value(self, table: Path) -> None:
        line = self._line()
        path = table + self._key()
        for depth in range(len(table) + 1, len(path) + 1):
            self._record(path[:depth], line)
        self._at += 1  # the '='
        self._skip_blank()
        self._value(path)

    def _key(self) -> Path:
        parts: list[str] = []
        while True:
            self._skip_blank()
            if self._next() in "\"'":
                start = self._at
                self._string()
                quoted = self._text[start : self._at]
                escapes = quoted[0] == '"' and "\\" in quoted
                name = tomllib.loads(f"key = {quoted}")["key"] if escapes else quoted[1:-1]
                parts.append(name)
            else:
                parts.append(self._match(_BARE_KEY))
            self._skip_blank()
            if self._next() != ".":
                return tuple(parts)
            self._at += 1

    def _value(self, path: Path) -> None:
        first = self._next()
        if first in "\"'":
            self._string()
        elif first == "[":
            self._items("]", path)
        elif first == "{":
            self._items("}", path)
        else:
            self._match(_SCALAR)

    def _items(self, closing: str, path: Path) -> None:
        """An array, or an inline table whose keys are recorded."""
        self._at += 1
        self._skip_blank()
        while self._next() != closing:
            if closing == "}":
                self._key_value(path)
            else:
                self._value(path)
            self._skip_blank()
            if self._next() == ",":
                self._at += 1
                self._skip_blank()
        self._at += 1

    def _string(self) -> None:
        quote = self._next()
        if self._text.startswith(quote * 3, self._at):
            self._at += 3
            self._match(_REST[quote * 3])
            # Up to two quotes may stand right before the closing three.
            while self._at < len(self._text) and self._next() == quote:
                self._at += 1
        else:
            self._at += 1
            self._match(_REST[quote])

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None, "tomllib accepted what the scanner does not follow"
        self._at = match.end()
        return match.group()

    def _skip_blank(self) -> None:
        self._match(_BLANK)

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _record(self, path: Path, line: int) -> None:
        self._lines.setdefault(path, line)
