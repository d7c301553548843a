#!/usr/bin/env python3
"""What the documents name is there: links, files, identifiers; and the pages that the code names.

An identifier is a word with an underscore between backticks, or in a block that opens with ```tour.
"""
import os
import re

import source_tree

# Not ours, or bytes of others.
SKIPPED_FOLDERS = {".git", "build", "node_modules", "corpus", "seeds"}
TEXT_ENDINGS = (
    ".c", ".h", ".py", ".mjs", ".js", ".sh", ".yaml", ".proto", ".cmake", ".txt", ".json",
)

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`([^`]+)`")
FILE_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:c|h|py|mjs|js|sh|yaml|proto|cmake|md|json)")
IDENTIFIER = re.compile(r"[A-Za-z]\w*_\w+")
PAGE_OF_CODE = re.compile(r"\bdocs/[\w/-]+\.md")


def all_files(root):
    found = []
    for here, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
        found += [os.path.relpath(os.path.join(here, n), root) for n in names]
    return sorted(found)


def is_text(path):
    return path.endswith(TEXT_ENDINGS) or "." not in os.path.basename(path)


def words_of(root, paths):
    """Every word with an underscore in code and configuration; names of files without ending."""
    words = {os.path.basename(path).partition(".")[0] for path in paths}
    for path in filter(is_text, paths):
        words.update(IDENTIFIER.findall(source_tree.read(root, path)))
    return words


def anchors_of(text):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def check_link(root, path, target):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    other = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not os.path.exists(os.path.join(root, other)):
        return f"{target}: there is no {other}"
    if anchor and anchor not in anchors_of(source_tree.read(root, other)):
        return f"{target}: {other} has no such heading"
    return None


def check_name(name, paths, words):
    if "NAME" in name:  # a placeholder
        return None
    if FILE_NAME.fullmatch(name):
        if not any(p == name or p.endswith("/" + name) for p in paths):
            return f"{name}: there is no such file"
    elif IDENTIFIER.fullmatch(name.removesuffix("()")) and name.removesuffix("()") not in words:
        return f"{name}: nothing in the tree has this name"
    return None


def names_in(line, block):
    """Names of one line: of its code spans, or all identifiers inside a tour."""
    if block == "tour":
        return IDENTIFIER.findall(line)
    return CODE_SPAN.findall(line) if block is None else []


def check_page(root, path, paths, words):
    block = None  # the word behind the fence, inside a block
    for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
        if line.startswith("```"):
            block = line[3:] if block is None else None
            continue
        problems = [check_name(name, paths, words) for name in names_in(line, block)]
        if block is None:
            problems += [check_link(root, path, target) for target in LINK.findall(line)]
        for what in filter(None, problems):
            yield source_tree.Problem(path, number, what)


def check_references(root, path, paths):
    for number, line in enumerate(source_tree.read(root, path).split("\n"), 1):
        for page in PAGE_OF_CODE.findall(line):
            if page not in paths:
                yield source_tree.Problem(path, number, f"there is no {page}")


def check_fuzz_table(root, paths):
    page = "docs/testing.md"
    text = source_tree.read(root, page) if page in paths else ""
    for path in paths:
        target = re.fullmatch(r"tests/fuzz/(\w+)_fuzz\.c", path)
        if target and f"`{target[1]}`" not in text:
            yield source_tree.Problem(path, 1, f"{page} does not list this target")


def check(root):
    paths = all_files(root)
    words = words_of(root, paths)
    yield from check_fuzz_table(root, paths)
    for path in paths:
        if path.endswith(".md"):
            yield from check_page(root, path, paths, words)
        elif is_text(path) and path != "tests/check/self_test.py":
            yield from check_references(root, path, paths)


if __name__ == "__main__":
    source_tree.run(check)
