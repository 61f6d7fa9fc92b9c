#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a value out of an answer of a daemon, which is JSON on standard input.

answer.py value KEY...     prints the value under these keys, one within the other
answer.py is VALUE KEY...  succeeds if the value under these keys is VALUE; a list is searched
answer.py counter NAME     prints the counter of that name
"""

import json
import sys


def values(answer, keys):
    """Returns all values under the keys; there are several where a list lies between."""
    found = [answer]
    for key in keys:
        found = [one for each in found for one in (each if isinstance(each, list) else [each])]
        found = [each[key] for each in found if key in each]
    return found


def written(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def main(request, *words):
    answer = json.load(sys.stdin)
    if request == "value":
        found = [written(value) for value in values(answer, words)]
    elif request == "is":
        return 0 if words[0] in map(written, values(answer, words[1:])) else 1
    elif request == "counter":
        found = [written(row["value"]) for row in answer["counters"] if row["name"] == words[0]]
    else:
        sys.exit(__doc__)
    if not found:
        return 1
    print(found[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
