"""Seeded damage to files: to their bytes, to their structure, to their numbers.

Every mutation is a function of content and a random generator, so that a case is found again by its seed and number.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]

NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TOKEN = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\s+|.", re.DOTALL)
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
QUOTED = re.compile(rb'"[^"\n]*"')

ODD_NUMBERS = (
    "0", "-0.0", "1", "-1", "2", "3.5", "nan", "-nan", "inf", "-inf", ".inf", "1e308", "-1e308", "1e309", "1e-320",
    "5e-324", "2147483647", "-2147483648", "4294967296", "9223372036854775808", "1" + "0" * 400, "0x10", "1_000",
    "1e", "1.2.3", "--1", "1e400", "0.1e-400", "٣", "1,5", "true", "", "65536", "1e5", "1e16", "-7",
)  # fmt: skip
ODD_WORDS = (
    "", "x", "nan", "null", "~", "true", "no", "base", "world", "../../etc/passwd", "/dev/null", "\\", "'", '"', "<",
    "&", "&amp;", "&who;", "]]>", "<!--", "\x1b[31m", "\u202e", "Δ", "𝔘", "\ufeff", "a" * 5000,
    "!!python/object/apply:os.system [true]", "*a", "&a", "%s%n", "{0}", "$(id)", "${x}", "`id`",
    "\r", "\n", "\t", ",", ";", ":", "#", "---", "...", "[", "{", "?",
)  # fmt: skip


def pick(rng: np.random.Generator, options):
    """Return one of them."""
    return options[int(rng.integers(len(options)))]


# ------------------------------------------------------------------ bytes


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def random_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    at, count = int(rng.integers(len(data))), int(rng.integers(1, 17))
    return data[:at] + rng.bytes(count) + data[at + pick(rng, (0, count)) :]


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data)))]


def lose(data: bytes, rng: np.random.Generator) -> bytes:
    begin = int(rng.integers(len(data)))
    return data[:begin] + data[begin + int(rng.integers(1, 200)) :]


def repeat(data: bytes, rng: np.random.Generator) -> bytes:
    begin = int(rng.integers(len(data)))
    part = data[begin : begin + int(rng.integers(1, 200))]
    return data[:begin] + part * int(rng.integers(2, 6)) + data[begin:]


def swap(data: bytes, rng: np.random.Generator) -> bytes:
    a, b, c, d = sorted(int(x) for x in rng.integers(len(data), size=4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def line_ends(data: bytes, rng: np.random.Generator) -> bytes:
    return data.replace(b"\n", pick(rng, (b"\r", b"\r\n", b"\n\n", b"\x0b", b"\x85", b"")))


def recode(data: bytes, rng: np.random.Generator) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(pick(rng, ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7", "cp037")), "replace")


BYTES: tuple[Mutation, ...] = (flip_bits, random_bytes, cut, lose, repeat, swap, line_ends, recode)


# ------------------------------------------------------------------ numbers and words


def _replaced(data: bytes, found: list[re.Match[bytes]], rng: np.random.Generator, choices: tuple[str, ...]) -> bytes:
    chosen = {int(k) for k in rng.integers(len(found), size=int(rng.integers(1, 4)))} if found else set()
    for k in sorted(chosen, reverse=True):
        data = data[: found[k].start()] + pick(rng, choices).encode() + data[found[k].end() :]
    return data


def other_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    return _replaced(data, list(NUMBER.finditer(data)), rng, ODD_NUMBERS)


def near_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    """Other numbers that may be: scaled, negated, exchanged."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    one = pick(rng, found)
    value = float(one[0]) * pick(rng, (-1.0, 0.5, 2.0, 10.0, 1e3, 1e-3, 1e6, 1e-9))
    return data[: one.start()] + f"{value:.6g}".encode() + data[one.end() :]


def other_words(data: bytes, rng: np.random.Generator) -> bytes:
    return _replaced(data, list(WORD.finditer(data)), rng, ODD_WORDS)


def other_values(data: bytes, rng: np.random.Generator) -> bytes:
    """Attributes and quoted words."""
    return _replaced(data, list(QUOTED.finditer(data)), rng, tuple(f'"{word}"' for word in (*ODD_WORDS, *ODD_NUMBERS)))


def words_of_its_own(data: bytes, rng: np.random.Generator) -> bytes:
    """Exchange words of the file with one another: names that twice are the same, keys in wrong places."""
    found = list(WORD.finditer(data))
    words = tuple(match[0].decode() for match in found) or ("x",)
    return _replaced(data, found, rng, words)


NUMBERS: tuple[Mutation, ...] = (other_numbers, near_numbers)
WORDS: tuple[Mutation, ...] = (other_words, other_values, words_of_its_own)


# ------------------------------------------------------------------ structure


def lines_moved(data: bytes, rng: np.random.Generator) -> bytes:
    """Lose, double or exchange lines."""
    lines = data.split(b"\n")
    k, other = (int(x) for x in rng.integers(len(lines), size=2))
    how = int(rng.integers(4))
    if how == 0:
        del lines[k]
    elif how == 1:
        lines.insert(other, lines[k])
    elif how == 2:
        lines[k], lines[other] = lines[other], lines[k]
    else:
        lines[k] = b" " * int(rng.integers(1, 9)) + lines[k]
    return b"\n".join(lines)


def elements_moved(data: bytes, rng: np.random.Generator) -> bytes:
    """Lose, double, nest or move an element of XML or a bracketed part of YAML."""
    spans = [m.span() for m in re.finditer(rb"<(\w+)\b[^<>]*?/>|<(\w+)[^<>]*>[^<]*</\2>|\{[^{}]*\}|\[[^\[\]]*\]", data)]
    if not spans:
        return lines_moved(data, rng)
    begin, end = pick(rng, spans)
    part, rest = data[begin:end], data[:begin] + data[end:]
    how = int(rng.integers(4))
    if how == 0:
        return rest
    if how == 1:
        return data[:begin] + part * int(rng.integers(2, 40)) + data[end:]
    if how == 2:
        target = min(pick(rng, spans)[0], len(rest))
        return rest[:target] + part + rest[target:]
    other = pick(rng, spans)
    return data[:begin] + data[other[0] : other[1]] + data[end:]


def tokens_moved(data: bytes, rng: np.random.Generator) -> bytes:
    tokens = TOKEN.findall(data)
    for _ in range(int(rng.integers(1, 4))):
        k, other = (int(x) for x in rng.integers(len(tokens), size=2))
        tokens[k] = tokens[other]
    return b"".join(tokens)


def deeper(data: bytes, rng: np.random.Generator) -> bytes:
    """Nest something very deep, or make something very long."""
    count = pick(rng, (50, 300, 3000))
    at = int(rng.integers(len(data)))
    opening, closing = pick(
        rng, ((b"[", b"]"), (b"{a: ", b"}"), (b"<body>", b"</body>"), (b"<link>", b"</link>"), (b"- ", b""))
    )
    return data[:at] + opening * count + closing * count + data[at:]


STRUCTURE: tuple[Mutation, ...] = (lines_moved, elements_moved, tokens_moved, deeper)

TEXT: tuple[Mutation, ...] = (*BYTES, *NUMBERS * 3, *WORDS * 2, *STRUCTURE * 2)
"""What is done to text: structure and numbers more often than plain bytes, which seldom get past the parser."""


def mutated(data: bytes, rng: np.random.Generator, mutations: tuple[Mutation, ...] = TEXT) -> bytes:
    """Return damaged content: one mutation as a rule, sometimes some on top of one another."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if data:
            data = pick(rng, mutations)(data, rng)
    return data
