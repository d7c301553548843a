#!/usr/bin/env python3
"""A file has one job and a function of C fits on a screen. Tests may be longer: tables of cases."""
import os

import source_tree

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

FOLDERS = (*source_tree.CODE_FOLDERS, "examples", "tests", "web")
C_ENDINGS = (".c", ".h")
SCRIPT_ENDINGS = (".js", ".mjs", ".py", ".sh")
SCRIPTS_WITHOUT_ENDING = ("dev", "tests/check/run", ".ci/run")


def files(root):
    yield from source_tree.source_files(root, FOLDERS, (*C_ENDINGS, *SCRIPT_ENDINGS))
    for path in SCRIPTS_WITHOUT_ENDING:
        if os.path.exists(os.path.join(root, path)):
            yield path


def check_functions(path, text):
    for name, first, last in source_tree.functions(text):
        if last - first + 1 > FUNCTION_LINES_MAX:
            what = f"{name}: {last - first + 1} lines, allowed are {FUNCTION_LINES_MAX}"
            yield source_tree.Problem(path, first, what)


def check(root):
    for path in files(root):
        text = source_tree.read(root, path)
        lines = text.split("\n")
        count = len(lines) - 1 if lines[-1] == "" else len(lines)
        if count > FILE_LINES_MAX and not path.startswith("tests/"):
            what = f"{count} lines, allowed are {FILE_LINES_MAX}"
            yield source_tree.Problem(path, count, what)
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                what = f"{len(line)} columns, allowed are {COLUMNS_MAX}"
                yield source_tree.Problem(path, number, what)
        if path.endswith(C_ENDINGS):
            yield from check_functions(path, text)


if __name__ == "__main__":
    source_tree.run(check)
