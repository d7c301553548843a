#!/usr/bin/env python3
"""docs/operations.md names every configuration key, variable, metric and log event, and no key,
metric or event that is not there; and a metric has one type in all services.

Keys stand in the first column of the tables below "### `<service>.yaml`", metrics anywhere between
backticks, events in the first column of the table below "## Log events".
"""
import os
import re

import source_tree

PAGE = "docs/operations.md"
CONFIGS = "config/local"
CODE = ("common", "services")

METRIC_TYPE = re.compile(r'"(earshot_\w+)",\s*(METRIC_\w+)')
METRIC = re.compile(r'"(earshot_\w+)"')
EVENT = re.compile(r'\blog_(?:debug|info|warn|error)\(\s*"([\w.%]+)')
YAML_KEY = re.compile(r"( *(?:- )?)([a-z_]+):(.*)")
PAGE_METRIC = re.compile(r"`(earshot_\w+)")
VARIABLE = re.compile(r"`(EARSHOT_\w+)`")
CELL_NAME = re.compile(r"`([^`]+)`")


def keys_of(text):
    """Path and line of each value: "http.listen", and "ingress[].name" for what lies in a list."""
    parents = []  # [column, path] of the mappings around the line
    lines = {}
    inner = set()
    for number, line in enumerate(text.split("\n"), 1):
        match = YAML_KEY.match(line)
        if not match:
            continue
        column = len(match[1])
        while parents and parents[-1][0] >= column:
            parents.pop()
        if parents and match[1].endswith("- ") and not parents[-1][1].endswith("[]"):
            parents[-1][1] += "[]"
        path = f"{parents[-1][1]}.{match[2]}" if parents else match[2]
        lines[path] = number
        inner.update(parent.removesuffix("[]") for _, parent in parents)
        parents.append([column, path])
    return {path: number for path, number in lines.items() if path not in inner}


def page_lines(root):
    """(line, heading above it, text); nothing when there is no page."""
    if not os.path.exists(os.path.join(root, PAGE)):
        return
    heading = ""
    for number, line in enumerate(source_tree.read(root, PAGE).split("\n"), 1):
        if line.startswith("#"):
            heading = line
        yield number, heading, line


def page_cells(root, heading):
    """Name and line of what stands between backticks in the first column below the heading."""
    names = {}
    for number, above, line in page_lines(root):
        if above == heading and line.startswith("|"):
            names.update((name, number) for name in CELL_NAME.findall(line.split("|")[1]))
    return names


def code_names(root, pattern):
    """{name: (path, line)} of what the pattern finds in the sources."""
    names = {}
    for path in source_tree.source_files(root, CODE):
        text = source_tree.without_comments(source_tree.read(root, path))
        for match in pattern.finditer(text):
            names.setdefault(match[1], (path, text.count("\n", 0, match.start()) + 1))
    return names


def check_keys(root):
    for path in source_tree.source_files(root, (CONFIGS,), (".yaml",)):
        in_page = page_cells(root, f"### `{os.path.basename(path)}`")
        in_file = keys_of(source_tree.read(root, path))
        for name, line in in_file.items():
            if name not in in_page:
                yield source_tree.Problem(path, line, f"{name}: {PAGE} does not explain this key")
        for name, line in in_page.items():
            if name not in in_file:
                yield source_tree.Problem(PAGE, line, f"{name}: {path} has no such key")


def check_metrics(root):
    in_code = code_names(root, METRIC)
    in_page = {name: n for n, _, line in page_lines(root) for name in PAGE_METRIC.findall(line)}
    for name, (path, line) in in_code.items():
        if name not in in_page:
            what = f"{name}: {PAGE} does not say what to do when it rises"
            yield source_tree.Problem(path, line, what)
    for name, line in in_page.items():
        if name not in in_code:
            yield source_tree.Problem(PAGE, line, f"{name}: no service has this metric")


def check_metric_types(root):
    """A dashboard of the whole suite reads one name in one way."""
    types = {}
    for path in source_tree.source_files(root, CODE):
        text = source_tree.without_comments(source_tree.read(root, path))
        for match in METRIC_TYPE.finditer(text):
            first = types.setdefault(match[1], match[2])
            if first != match[2]:
                line = text.count("\n", 0, match.start()) + 1
                what = f"{match[1]}: {match[2]} here, {first} elsewhere"
                yield source_tree.Problem(path, line, what)


def check_events(root):
    in_code = code_names(root, EVENT)
    in_page = page_cells(root, "## Log events")
    patterns = {name: re.compile(re.escape(name).replace("%s", r"\w+")) for name in in_code}
    for name, (path, line) in in_code.items():
        if not any(patterns[name].fullmatch(known) for known in in_page):
            yield source_tree.Problem(path, line, f"{name}: {PAGE} does not list this event")
    for known, line in in_page.items():
        if not any(pattern.fullmatch(known) for pattern in patterns.values()):
            yield source_tree.Problem(PAGE, line, f"{known}: nobody logs this event")


def check_variables(root):
    """The page's table of variables has each that a configuration reads."""
    in_page = {name for _, _, line in page_lines(root) for name in VARIABLE.findall(line)}
    for path in source_tree.source_files(root, (CONFIGS,), (".yaml",)):
        for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
            for name in re.findall(r"\$\{(EARSHOT_\w+)", line):
                if name not in in_page:
                    yield source_tree.Problem(path, number, f"{name}: {PAGE} does not list it")


def check(root):
    yield from check_variables(root)
    yield from check_metric_types(root)
    yield from check_keys(root)
    yield from check_metrics(root)
    yield from check_events(root)


if __name__ == "__main__":
    source_tree.run(check)
