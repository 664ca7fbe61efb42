"""Print "passed failed skipped", added up over the JUnit result files named."""

import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def count(paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        for case in ElementTree.parse(path).iter("testcase"):
            counts[outcome(case)] += 1
    return counts


if __name__ == "__main__":
    print(*count(sys.argv[1:]).values())
