#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups the sources of one target into batches that compile as one file each.

The build calls this as `unity_batches.py SIZE FILE...`. It prints one line for each batch: its
files, with vertical bars between them. A file that fits no batch has a line of its own.

Two files cannot share a batch if both declare the same word for themselves alone: in an unnamed
namespace, as static, or as a macro. Nor can they if one declares a constant or an alias so and the
other uses that word for something else. A header of a test counts as part of the files that include
it. The batch of a file follows from its name, so that a new file moves few others.
"""

import math
import pathlib
import re
import sys
import zlib

COMMENT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"[A-Za-z_]\w*")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
HIDDEN = re.compile(r"^namespace \{\n(.*?)(?:^\}  // namespace$|\Z)", re.MULTILINE | re.DOTALL)
# A declaration starts at the left margin; its name stands before the first of ( { = ; [
TYPE = re.compile(r"^(?:template .*\n)?(?:struct|class|enum class|enum|union) (\w+)", re.MULTILINE)
ENUMERATORS = re.compile(r"^enum (?!class)[^{;]*\{([^}]*)\}", re.MULTILINE)
ALIAS = re.compile(r"^using (\w+) = (.*)", re.MULTILINE)  # two equal aliases do not clash
CONSTANT = re.compile(r"^(?:[a-z][^\n]*?\b| {4})(k[A-Z]\w*)\s*[={\[]", re.MULTILINE)
VALUE = re.compile(
    r"^(?!using |namespace |struct |class |enum |union )[A-Za-z][^\n(={;]*?\b(\w+)\s*[(={;\[]",
    re.MULTILINE,
)
STATIC = re.compile(r"^static [^\n(={;]*?\b(\w+)\s*[(={;\[]", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
SCOPE = re.compile(r"(?<![:\w])\w+::")
NAMESPACE = re.compile(r"^namespace (\w+::\w+::(?:\w+::)*)(\w+) \{", re.MULTILINE)


class Source:
    """The words that a file declares for itself, and all its words, test headers included."""

    def __init__(self, root, path):
        self.path = path
        self.words = set()
        self.declared = set()  # pairs of a word and the file that declares it
        self.shadowing = set()  # words that must have no other meaning in another file
        self._seen = set()
        self._read(root, path)
        self.names = {name for name, _ in self.declared}

    def _read(self, root, path):
        self._seen.add(path)
        text = path.read_text()
        for name in INCLUDE.findall(text):
            header = root / name
            if name.startswith("tests/") and header not in self._seen and header.exists():
                self._read(root, header)
        hidden = [text] if path.suffix == ".h" else HIDDEN.findall(text)
        text = COMMENT.sub("", text)
        self.words.update(WORD.findall(text))
        self.words.update(SCOPE.findall(text))
        for part in hidden:
            part = COMMENT.sub("", part)
            constants = CONSTANT.findall(part)
            self._declare(TYPE.findall(part) + VALUE.findall(part) + constants, path)
            self.shadowing.update(constants)
            for listed in ENUMERATORS.findall(part):
                self._declare(WORD.findall(listed), path)
        aliases = ALIAS.findall(text)
        self.declared.update(aliases)
        self.shadowing.update(name for name, _ in aliases)
        self._declare(STATIC.findall(text), path)
        self._declare(MACRO.findall(text), path)
        if "tests" in path.parts:
            inner = [(last + "::", first) for first, last in NAMESPACE.findall(text)]
            self.declared.update(inner)
            self.shadowing.update(name for name, _ in inner)

    def _declare(self, names, path):
        self.declared.update((name, path) for name in names)

    def clashes(self, other):
        return self._hides(other) or other._hides(self)

    def _hides(self, other):
        return any(
            name in other.names or (name in other.words and name in self.shadowing)
            for name, _ in self.declared - other.declared
        )


def batches(sources, size):
    """Puts each file into the batch of its name, or the next one with room and no clash."""
    count = math.ceil(len(sources) / size)
    result = [[] for _ in range(count)]
    for source in sources:
        first = zlib.crc32(source.path.name.encode()) % count
        for at in [*range(first, count), *range(first), *range(count, len(result))]:
            if len(result[at]) < size and not any(source.clashes(other) for other in result[at]):
                result[at].append(source)
                break
        else:
            result.append([source])
    return [batch for batch in result if batch]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    size = int(sys.argv[1])
    sources = [Source(root, pathlib.Path(path)) for path in sorted(sys.argv[2:])]
    for batch in batches(sources, size):
        print("|".join(str(source.path) for source in batch))


if __name__ == "__main__":
    main()
