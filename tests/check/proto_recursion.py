#!/usr/bin/env python3
"""No message of proto/ contains itself: protobuf-c unpacks by recursion, without a limit."""
import re

import source_tree

MESSAGE = re.compile(r"\s*message\s+(\w+)\s*\{")
FIELD = re.compile(
    r"\s*(?:repeated\s+|optional\s+)?(?:map\s*<\s*\w+\s*,\s*)?([\w.]+)\s*>?\s+\w+\s*=\s*\d+"
)


def fields_of(root, path):
    """(message, type, line) of each field; the name of a message inside another has the outer's."""
    open_blocks = []
    text = source_tree.without_comments(source_tree.read(root, path))
    for number, line in enumerate(text.split("\n"), 1):
        message = MESSAGE.match(line)
        names = [name for name in open_blocks if name]
        if message:
            open_blocks.append(message[1])
            names.append(message[1])
            line = line[message.end() :]
        elif "{" in line:  # enum or oneof: its fields belong to the message around it
            open_blocks.append("")
            line = line[line.index("{") + 1 :]
        for part in line.split(";"):
            field = FIELD.match(part)
            if field and names:
                yield names, field[1].split(".")[-1], number
        for _ in range(line.count("}")):
            open_blocks.pop()


def cycle_from(start, uses):
    """The messages from start back to start, or None."""
    ways, seen = [[start]], set()
    while ways:
        way = ways.pop()
        for other in uses.get(way[-1], {}):
            if other == start:
                return [*way, start]
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    return None


def check(root):
    uses = {}
    for path in source_tree.source_files(root, ("proto",), (".proto",)):
        for names, kind, line in fields_of(root, path):
            uses.setdefault(names[-1], {})[kind] = (path, line)
    for message in sorted(uses):
        cycle = cycle_from(message, uses)
        if cycle:
            path, line = uses[message][cycle[1]]
            yield source_tree.Problem(path, line, f"recursive: {' -> '.join(cycle)}")


if __name__ == "__main__":
    source_tree.run(check)
