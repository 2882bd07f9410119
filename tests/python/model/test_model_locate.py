"""The scanner finds the line of every key that tomllib reads."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.model.locate import key_lines


def paths(tree, above=()):
    for part, value in tree.items():
        yield (*above, part)
        if isinstance(value, dict):
            yield from paths(value, (*above, part))


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nb = 2", ("b",), 2),
        ("# a = 0\n\n  a = 1", ("a",), 3),
        ("[t]\na = 1\n[u]\na = 2", ("u", "a"), 4),
        ("[t]\na = 1\n[u]\na = 2", ("u",), 3),
        ("[a.b.c]\nd = 1", ("a", "b", "c", "d"), 2),
        ("a.b.c = 1\na.b.d = 2", ("a", "b", "d"), 2),
        ("a.b = 1", ("a",), 1),
        ("\"quoted.key\" = 1\n'other # key' = 2", ("other # key",), 2),
        ('"a\\u0062" = 1', ("ab",), 1),
        ('a = """\nb = 1\n"""\nb = 2', ("b",), 4),
        ("a = '''\n[b]\n'''\nb = 2", ("b",), 4),
        ('a = """x""""\nb = 2', ("b",), 2),
        ('a = """\\""""\nb = 2', ("b",), 2),
        ("a = 'C:\\'\nb = 2", ("b",), 2),
        ('a = "\\\\"\nb = 2', ("b",), 2),
        ('a = "#"\nb = 2 # c = 3', ("b",), 2),
        ("a = [\n 1, # x = 1\n [2, 3],\n]\nb = 1", ("b",), 5),
        ("a = {x = 1, y = {z = 2}}\nb = 1", ("a", "y", "z"), 1),
        ("a = [{x = 1}, {x = 2}]\nb = 1", ("b",), 2),
        ("[[a]]\nx = 1\n[[a]]\ny = 2", ("a", "y"), 4),
        ("a = 1979-05-27 07:32:00\nb = 1", ("b",), 2),
        ("a = 1\r\nb = 2\r\n", ("b",), 2),
        ("[ a . 'b' ]\nc = 1", ("a", "b", "c"), 2),
    ],
)
def test_the_line_of_a_key_is_found(text, path, line):
    tomllib.loads(text)  # the cases themselves are valid
    assert key_lines(text)[path] == line


BARE = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)
# Control characters cannot stand in TOML, nor unpaired surrogates in UTF-8.
CHARACTERS = st.characters(exclude_categories=("Cc", "Cs"))
STRINGS = st.text(CHARACTERS, max_size=8)


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


KEY_TEXTS = st.one_of(BARE.map(lambda key: (key, key)), STRINGS.map(lambda s: (s, quote(s))))
VALUES = st.recursive(
    st.one_of(
        st.integers().map(str),
        st.booleans().map(lambda b: str(b).lower()),
        STRINGS.map(quote),
        STRINGS.filter(lambda s: "'" not in s).map(lambda s: f"'{s}'"),
        STRINGS.filter(lambda s: "'" not in s).map(lambda s: f"'''\n{s}\n#]'''"),
        STRINGS.map(lambda s: f'"""\n{quote(s)[1:-1]}\n[x]"""'),
    ),
    lambda inner: st.lists(inner, max_size=3).map(
        lambda items: "[\n" + ", # ]\n".join(items) + "]"
    ),
    max_leaves=4,
)


@given(st.lists(st.tuples(KEY_TEXTS, VALUES), max_size=6, unique_by=lambda entry: entry[0][0]))
def test_every_key_of_a_made_up_file_is_found_on_its_line(entries):
    lines, expected = [], {}
    for (key, key_text), value in entries:
        expected[(key,)] = sum(line.count("\n") + 1 for line in lines) + 1
        lines.append(f"{key_text} = {value} # {key_text} = 0")
    text = "\n".join(lines)
    assert set(paths(tomllib.loads(text))) == set(expected)
    assert key_lines(text) == expected


@given(st.text(alphabet="ab.=\n[]{}\"'#,\\ 1", max_size=40))
def test_the_scanner_follows_every_file_that_tomllib_accepts(text):
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = key_lines(text)
    assert set(paths(tree)) <= set(found)
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
