"""Compares what a program says about a store and about its copies.

learn KIND STABLE FOLDER...   notes which lists, and if KIND is "objects" which objects, have the same order in all answers about
                              one store
write STABLE FOLDER RESULT    writes the answers of a folder: what is in STABLE in its order, the rest sorted

An answer is a file of JSON, or of text: then it is the list of its lines.
"""
import json
import os
import sys


def read(path):
    text = open(path).read()
    for start in sorted(place for place in (text.find("["), text.find("{")) if place >= 0):
        try:
            return json.loads(text[start:])
        except ValueError:
            break
    return text.splitlines()


def key(value):
    return json.dumps(value, sort_keys=True)


def sorted_value(value):
    if isinstance(value, dict):
        return {name: sorted_value(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return sorted((sorted_value(item) for item in value), key=key)
    return value


def identified(values):
    """The values, if they are objects with identifiers."""
    return all(isinstance(item, dict) and "uuid" in item for value in values for item in value or [])


# Adds the places of all lists and objects to `seen`, and of those whose order differs to `unstable`.
def compare(values, place, seen, unstable):
    first = values[0]
    if isinstance(first, dict):
        if len(first) > 1:
            seen.add(f"{place}{{}}")
        if any(isinstance(value, dict) and list(value) != list(first) for value in values):
            unstable.add(f"{place}{{}}")
        for name in first:
            others = [value.get(name) if isinstance(value, dict) else None for value in values]
            compare(others, f"{place}.{name}", seen, unstable)
    elif isinstance(first, list):
        if len(first) > 1:
            seen.add(place)
        if identified(values):
            aligned = [sorted(value or [], key=lambda item: item["uuid"]) for value in values]
            for items in zip(*aligned):
                compare(list(items), f"{place}[]", seen, unstable)
        whole = [[key(sorted_value(item)) for item in value or []] for value in values]
        if any(other != whole[0] for other in whole):
            unstable.add(place)
        elif not identified([first]):
            for index in range(len(first)):
                compare([value[index] for value in values], f"{place}[]", seen, unstable)


def ordered(value, place, stable):
    if isinstance(value, dict):
        names = list(value) if f"{place}{{}}" in stable else sorted(value)
        return {name: ordered(value[name], f"{place}.{name}", stable) for name in names}
    if isinstance(value, list):
        items = [ordered(item, f"{place}[]", stable) for item in value]
        return items if place in stable else sorted(items, key=key)
    return value


if sys.argv[1] == "learn":
    stable = set()
    for name in sorted(os.listdir(sys.argv[4])):
        seen, unstable = set(), set()
        compare([read(os.path.join(folder, name)) for folder in sys.argv[4:]], name, seen, unstable)
        stable |= seen - unstable
    if sys.argv[2] != "objects":
        stable = {place for place in stable if not place.endswith("{}")}
    json.dump(sorted(stable), open(sys.argv[3], "w"), indent=1)
    print(f"{len(stable)} kinds of {sys.argv[2]} have an order")
else:
    stable = set(json.load(open(sys.argv[2])))
    os.makedirs(sys.argv[4], exist_ok=True)
    for name in os.listdir(sys.argv[3]):
        with open(os.path.join(sys.argv[4], name), "w") as file:
            json.dump(ordered(read(os.path.join(sys.argv[3], name)), name, stable), file, indent=1)
