"""Files of MATLAB with something changed: letters, words, lines; most are broken, some mean something else."""

from __future__ import annotations

import random
import re

WORD = re.compile(
    r"'[^'\n]*'|[A-Za-z_]\w*|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\^|\.\*|\./|\.'|==|~=|<=|>=|&&|\|\||\.\.\.|[^\s\w]|\s+"
)
LETTERS = list("()[]{}'\",;:.+-*/\\^~=<>&|@%#! \n0123456789eabij_")
WORDS = (
    "+", "-", "*", "/", "\\", "^", ".*", "./", ".^", "'", ".'", "==", "~=", "<", ">", "<=", ">=", "&", "|", "&&", "||",
    "~", ":", ",", ";", "(", ")", "[", "]", "{", "}", "=", "end", "if", "else", "for", "while", "break", "return",
    "continue", "switch", "case", "otherwise", "function", "true", "false", "pi", "Inf", "NaN", "0", "1", "2", "3",
    "-1", "0.5", "1e3", "zeros", "ones", "eye", "size", "length", "sum", "max", "min", "abs", "sqrt", "sin", "cos",
    "numel", "x", "y", "t", "n", "m", "q", "a", "i", "(1)", "(2)", "(end)", "(:)", "(:,1)", "(1,:)", "[]", "...", "@",
    "'a'",
)  # fmt: skip
LINES = (
    "%{\nm = 9;\n%}", "return", "x = 1;", "m(1) = 7;", "if 1 == 2 m = 3; end", "for i = 1:2 m(i) = 7; end", "clear m",
    "s = '%'; m = 4;", "fprintf('%d\\n', 1); m = 5;", "m{1} = 4;", "m += 1;", "a = [1 -2];", "a = [1 - 2];", "x = x';",
    "end", "q(3) = 1;", "while 0, x = 2; end", "x = -2^2;", "x = 2^-1;", "y = 1:0;", "x = ~x == 0;",
    "[a, b] = size(1);", "b = a(end);", "x(2) = [];", "z.a = 1; x = z.a;", "x = 1 : 3 + 1;", "m = m(:);", "x = [x; 1];",
    "t = t + 1;", "% comment", "...", "x = max([1 2], [], 2);", "break", "continue", "x = 1; y = 2, n = 3",
    "if x, y = 1; end", "x = 3 == 3;", "x(x > 1) = 0;", "x = [1 2; 3 4](1);", "x = a.b;",
    "switch 1, case 1, x = 2; end", "m = sum(m, 2);",
)  # fmt: skip


def mutated(text: str, seed: int) -> str:
    """Return a text with one to three changes."""
    dice = random.Random(seed)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        text = dice.choice((_letter, _word, _word, _word, _line))(text, dice)
    return text


def _letter(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text))
    kind = dice.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + dice.choice(LETTERS) + text[at:]
    if kind == 2:
        return text[:at] + dice.choice(LETTERS) + text[at + 1 :]
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def _word(text: str, dice: random.Random) -> str:
    words = WORD.findall(text)
    solid = [k for k, word in enumerate(words) if word.strip()]
    if not solid:
        return text
    at, kind = dice.choice(solid), dice.randrange(5)
    if kind == 0:
        del words[at]
    elif kind == 1:
        words.insert(at, dice.choice((" ", "")) + dice.choice(WORDS) + dice.choice((" ", "")))
    elif kind == 2:
        words[at] = dice.choice(WORDS)
    elif kind == 3:
        other = dice.choice(solid)
        words[at], words[other] = words[other], words[at]
    else:
        words[at] = words[dice.choice(solid)]
    return "".join(words)


def _line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    at, kind = dice.randrange(len(lines)), dice.randrange(5)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[dice.randrange(len(lines))])
    elif kind == 2:
        other = dice.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(at, dice.choice(LINES))
    return "\n".join(lines)
