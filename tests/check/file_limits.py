#!/usr/bin/env python3
"""A file has one job and a function fits on a screen. Tests may be longer files: tables of cases."""
import source_tree

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100


def check(root):
    for path in source_tree.source_files(root, (*source_tree.CODE_FOLDERS, "tests")):
        text = source_tree.read(root, path)
        lines = text.split("\n")
        count = len(lines) - 1 if lines[-1] == "" else len(lines)
        if count > FILE_LINES_MAX and not path.startswith("tests/"):
            yield source_tree.Problem(path, count, f"{count} lines, allowed are {FILE_LINES_MAX}")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                yield source_tree.Problem(path, number, f"{len(line)} columns, allowed are {COLUMNS_MAX}")
        for name, first, last in source_tree.functions(text):
            if last - first + 1 > FUNCTION_LINES_MAX:
                what = f"{name}: {last - first + 1} lines, allowed are {FUNCTION_LINES_MAX}"
                yield source_tree.Problem(path, first, what)


if __name__ == "__main__":
    source_tree.run(check)
