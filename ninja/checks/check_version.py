"""
Checks that the version is the same everywhere.

format/include/tracebed/format.h says which version this is. The build, the installed files for pkg-config and CMake,
Meson, the gem, Python's module and the program take it from there. What cannot is compared here: the numbers beside
the text, the newest entries of CHANGELOG.md and debian/changelog with their dates, and the consumer that asks CMake for
a version.

    python3 ninja/checks/check_version.py [--release]

With --release, an entry that is not dated fails, too.

Check: version

SPDX-License-Identifier: MIT
"""

import datetime
import email.utils
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "format/include/tracebed/format.h"
UNRELEASED = "unreleased"


def find(path, pattern):
    """What the pattern's groups match first in a file."""
    match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)
    return match.groups() if match else None


def version():
    (text,) = find(HEADER, r'^#define TBED_VERSION_STRING "(.*)"$')
    return text


def numbers():
    return ".".join(find(HEADER, rf"^#define TBED_VERSION_{part} +(\d+)$")[0] for part in ("MAJOR", "MINOR", "PATCH"))


def changelog():
    """The version and the date of the newest entry for the library and the tools."""
    return find("CHANGELOG.md", r"^### (\d+\.\d+\.\d+) \((.+)\)$") or ("none", "none")


def debian():
    text = (ROOT / "debian/changelog").read_text(encoding="utf-8")
    match = re.match(r"tracebed \(([^)-]+)(?:-[^)]+)?\).*?^ -- [^\n]*>  ([^\n]+)$", text, re.M | re.S)
    if match is None:
        return "none", "none"
    return match[1], email.utils.parsedate_to_datetime(match[2]).date().isoformat()


def is_date(text):
    try:
        return datetime.date.fromisoformat(text) is not None
    except ValueError:
        return False


def problems(is_release):
    wanted = version()
    newest, date = changelog()
    debian_version, debian_date = debian()
    asked = find("writer/examples/consumers/cmake_package/CMakeLists.txt", r"find_package\(tracebed (\S+)")[0]
    for place, found in ((HEADER, numbers()), ("CHANGELOG.md", newest), ("debian/changelog", debian_version)):
        if found != wanted:
            yield f"{place}: the version is {found}, but TBED_VERSION_STRING is {wanted}"
    if wanted.rsplit(".", 1)[0] != asked:
        yield f"writer/examples/consumers/cmake_package asks for version {asked}, and {wanted} is not compatible with it"
    if date != UNRELEASED and not is_date(date):
        yield f"CHANGELOG.md: '{date}' is neither a date (2026-11-29) nor '{UNRELEASED}'"
    if date != UNRELEASED and is_date(date) and date != debian_date:
        yield f"CHANGELOG.md is dated {date}, debian/changelog {debian_date}"
    if is_release and date == UNRELEASED:
        yield f"CHANGELOG.md: {wanted} has no date yet"


def main():
    found = list(problems("--release" in sys.argv[1:]))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
