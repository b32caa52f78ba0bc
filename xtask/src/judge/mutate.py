"""Breaks the statements of a file in many ways, always the same ones: statements in, mutated statements out, one a line."""

import random
import re
import sys

TOKEN = re.compile(
    r"""\n[ \t]*|[ \t]+|\#[^\n]*|\\\n
    |(?:[rRbBuUfFtT]{0,2})(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')
    |[0-9][0-9a-zA-Z_.]*|\w+|\*\*=|//=|>>=|<<=|\.\.\.|[-+*/%@&|^=<>!:]=|->|\*\*|//|<<|>>|.""",
    re.X | re.S,
)
POOL = (
    ", : ; ( ) [ ] { } . = == := -> * ** + - ~ / @ | ! ... 1 0x 1_ 09 1.5 2j x y _ None True __debug__ 'a' b'a' f'{x}' f'{' b'\u00e9' "
    "'\\x4' '\\N{' yield await async lambda not and or in is if else for while with as from import def class return "
    "break continue del global nonlocal pass raise try except finally match case type assert *x **x x=1 $ ? \u20ac \u00e9"
).split() + ["\n", "\n    ", "\n\t", " ", "\\", "x := 1", "yield x", "await x", "lambda: x", "f()", "[x]", "(x, y)", "{x: y}", "x if y else z"]
EACH = 30


def join(tokens):
    """Words that a mutation brought together stay apart."""
    out = ""
    for token in tokens:
        if out and token and re.match(r"\w", token) and re.search(r"\w$", out):
            out += " "
        out += token
    return out


def mutate(random, tokens):
    places = [i for i, token in enumerate(tokens) if token.strip()]
    i = random.choice(places)
    tokens = list(tokens)
    how = random.randrange(6)
    if how == 0:
        del tokens[i]
    elif how == 1:
        tokens.insert(i, tokens[i])
    elif how == 2:
        j = random.choice(places)
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif how == 3:
        tokens[i] = random.choice(POOL)
    elif how == 4:
        tokens.insert(i, random.choice(POOL))
    else:
        tokens[i] = tokens[random.choice(places)]
    return join(tokens)


def main():
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    chance = random.Random(311314)
    seen = {}
    for line in sys.stdin.read().splitlines():
        if not line or line.startswith("#"):
            continue
        text = line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
        seen.setdefault(text)
        tokens = TOKEN.findall(text)
        for _ in range(EACH):
            seen.setdefault(mutate(chance, tokens))
    for text in seen:
        print(text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"))


main()
