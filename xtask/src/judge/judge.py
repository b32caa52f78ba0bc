"""Says which sources this Python rejects: one JSON object a line in, one line out.

A source is rejected when `compile` raises: that is the parser, the symbol table and the compiler's own checks, and
nothing is run. Each line in is {"path": …} or {"text": …}; each line out is `ok`, or `no` and why.
"""

import json
import sys
import warnings


def verdict(source):
    try:
        compile(source, "file", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError) as problem:
        return "no\t" + type(problem).__name__ + ": " + str(problem).splitlines()[0]
    except (RecursionError, MemoryError) as problem:
        return "no\t" + type(problem).__name__
    return "ok"


def judge(requests):
    warnings.simplefilter("ignore")
    out = ["%d.%d.%d" % sys.version_info[:3]]
    for line in requests.splitlines():
        request = json.loads(line)
        if "path" in request:
            with open(request["path"], "rb") as file:
                source = file.read()
        else:
            source = request["text"].encode("utf-8", "surrogatepass")
        out.append(verdict(source))
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout.write(judge(sys.stdin.read()))
