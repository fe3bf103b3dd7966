#!/usr/bin/python3
"""Adds up JUnit reports of ctest and lit: "N passed, N failed, N skipped".

A ctest case of the label golden is a run of lit; it is replaced by lit's own report beside it, in
the same folder. Steps that failed outside any test count as one failure if no test failed.
"""
import argparse
import pathlib
import sys
import xml.etree.ElementTree as ET


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--failed-steps", type=int, default=0)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for folder in args.folders:
        reports = {path.stem: path for path in sorted(folder.glob("*.xml"))}
        for path in reports.values():
            for case in ET.parse(path).iter("testcase"):
                if path.stem != "ctest" or case.get("name") not in reports:
                    count[outcome(case)] += 1
    if args.failed_steps and not count["failed"]:
        count["failed"] = args.failed_steps
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
