"""What the checks share: the source files of the tree, their includes, functions and plain code."""
import os
import re
import sys

CODE_FOLDERS = ("common", "services", "tools")

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")


class Problem:
    def __init__(self, path, line, what):
        self.path, self.line, self.what = path, line, what

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


def source_files(root, folders=CODE_FOLDERS, endings=(".c", ".h")):
    """Paths from the root, sorted, with / between folders."""
    found = []
    for folder in folders:
        for here, inner, names in os.walk(os.path.join(root, folder)):
            inner[:] = [name for name in inner if name != "node_modules"]
            found += [os.path.relpath(os.path.join(here, name), root)
                      for name in names if name.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: blank(m[0]) if m["comment"] else m[0], text)


def plain_code(text):
    """Comments, strings and characters become spaces; lines stay where they are."""
    return TOKEN.sub(lambda m: blank(m[0]), text)


def includes(text):
    """(line, name, is_own) of each #include."""
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[2], match[1] == '"'


def functions(text):
    """(name, first line, last line) of each definition. Relies on clang-format: a body's braces
    stand alone in the first column."""
    lines = plain_code(text).split("\n")
    begin = None
    for index, line in enumerate(lines):
        if line.rstrip() == "{":
            begin = index
            while begin > 0 and re.match(r"\s*[^#\s].*[^;}\s]\s*$", lines[begin - 1]):
                begin -= 1
            head = ATTRIBUTE.sub(" ", " ".join(lines[begin:index]))
            name = re.search(r"(\w+)\s*\(", head)
        elif line.rstrip() == "}" and begin is not None:
            yield (name[1] if name else "?"), begin + 1, index + 1
            begin = None


def run(check):
    """Prints what check(root) finds and ends with 1 if there is anything."""
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(here))
    problems = list(check(root))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
