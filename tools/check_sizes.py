#!/usr/bin/python3
"""Checks the size budget of the sources and prints what there is.

Files have at most 400 lines of 100 columns, raw strings aside. Functions have at most 60 lines, unless most of them
are the cases of a switch, and half of them at most 12.
"""
import pathlib
import re
import statistics
import subprocess
import sys

MAX_FILE, MAX_FUNCTION, MAX_MEDIAN, MAX_COLUMNS = 400, 60, 12, 100
OPENS_FUNCTION = re.compile(r"\)( const)?( noexcept)?( override)?( -> .*)? \{$")
LAMBDA = re.compile(r"\[[^\]]*\]\s*(?:\(|\{)")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
NO_FUNCTION = re.compile(r"^\s*(?:for|if|while|switch|\}|case|do\b|#|//)")


def sources():
    names = subprocess.check_output(
        ["git", "ls-files", "*.cpp", "*.h", "*.def"], text=True).split()
    return [pathlib.Path(n) for n in names if pathlib.Path(n).exists()]


def head_of(lines, i):
    """The line where the declarator that ends in line i begins: parameters and initializers may
    span lines."""
    depth = lines[i].count("(") - lines[i].count(")")
    while i > 0 and (depth < 0 or lines[i].lstrip().startswith(":") or lines[i - 1].endswith(",")):
        i -= 1
        depth += lines[i].count("(") - lines[i].count(")")
    return i


def functions(lines):
    """(first line, lines, cases) of each function whose brace ends a line. The formatter puts the
    closing brace at the indent of the head."""
    i = 0
    while i < len(lines):
        opens = OPENS_FUNCTION.search(lines[i]) and not LAMBDA.search(lines[i])
        head = head_of(lines, i) if opens else i
        if not opens or NO_FUNCTION.search(lines[head]):
            i += 1
            continue
        indent = re.match(" *", lines[head]).group()
        end = next((n for n in range(i + 1, len(lines)) if lines[n].startswith(indent + "}")),
                   len(lines) - 1)
        yield head + 1, end - head + 1, sum("case " in line for line in lines[head:end])
        i = end + 1


def main():
    problems, lengths, total = [], [], 0
    for path in sources():
        text = path.read_text()
        lines = text.splitlines()
        code = RAW_STRING.sub(lambda raw: "\n" * raw.group().count("\n"), text).splitlines()
        total += len(lines) if path.parts[0] in ("include", "lib") else 0
        if len(lines) > MAX_FILE:
            problems.append(f"{path}: {len(lines)} lines exceed {MAX_FILE}")
        problems += [f"{path}:{n}: exceeds {MAX_COLUMNS} columns"
                     for n, line in enumerate(code, 1) if len(line) > MAX_COLUMNS]
        if path.suffix != ".cpp":
            continue
        for first, length, cases in functions(lines):
            if path.parts[0] != "tests":
                lengths.append(length)
            if length > MAX_FUNCTION and cases < length / 4:
                problems.append(f"{path}:{first}: function of {length} lines exceeds {MAX_FUNCTION}")
    median = statistics.median(lengths) if lengths else 0
    if median > MAX_MEDIAN:
        problems.append(f"the median function has {median} lines, more than {MAX_MEDIAN}")
    print("\n".join(problems + [f"total: {total} lines in include and lib, {len(lengths)} functions"
                                f" of more than one line, median {median:g}"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
