"""Summarises the reports of a fuzzing server.

    conformance-verdict.py CASES INDEX...

Prints one line of counts and one for each case that is not plainly OK. The status is 0 if there are
CASES cases and each of them, and each close, is OK or INFORMATIONAL; otherwise 1.
"""

import collections
import json
import sys

ACCEPTED = {"OK", "INFORMATIONAL"}


def main(wanted, paths):
    cases = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for results in json.load(file).values():
                cases.update(results)
    counts = collections.Counter({"OK": 0, "INFORMATIONAL": 0, "NON-STRICT": 0, "UNIMPLEMENTED": 0, "FAILED": 0})
    failed = 0
    for number, case in sorted(cases.items(), key=lambda item: [int(part) for part in item[0].split(".")]):
        behaviour, close = case["behavior"], case["behaviorClose"]
        counts[behaviour] += 1
        if not {behaviour, close} <= ACCEPTED:
            failed += 1
        if {behaviour, close} != {"OK"}:
            print(f"case {number}: {behaviour}, close {close}")
    print(f"conformance: {len(cases)} cases: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if len(cases) != wanted:
        print(f"conformance: there should be {wanted} cases", file=sys.stderr)
    if failed:
        print(f"conformance: {failed} cases are neither OK nor INFORMATIONAL", file=sys.stderr)
    return 1 if failed or len(cases) != wanted else 0


sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
