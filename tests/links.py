#!/usr/bin/env python3
"""Checks that the links of all documents lead somewhere: links.py [--online]. Without --online, only those into this tree."""

import pathlib
import re
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
OURS = "https://github.com/translation-exporter/translation-exporter/blob/main/"
# Addresses that are examples.
EXAMPLE = re.compile(r"https?://(localhost|EXPORTER|[^/]*example\.com)\b")


def anchors(text):
    """The names of the headings of a document in addresses, as GitHub forms them."""
    headings = re.findall(r"(?m)^#+ +(.*)$", re.sub(r"(?ms)^```.*?^```", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links():
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    for file in files:
        text = (ROOT / file).read_text()
        for target in re.findall(r"\]\(([^)\s]+)\)|\[[^\]]+\]: (\S+)|<(https?://[^>\s]+)>", text):
            yield ROOT / file, "".join(target)


def broken_here(file, target):
    path, _, anchor = target.partition("#")
    aim = ROOT / path.removeprefix(OURS) if path.startswith(OURS) else file.parent / path if path else file
    if not aim.exists():
        return "no such file"
    if anchor and aim.suffix == ".md" and anchor not in anchors(aim.read_text()):
        return "no such heading"
    return None


def broken_there(target):
    request = urllib.request.Request(target, headers={"User-Agent": "links.py of translation-exporter"})
    try:
        urllib.request.urlopen(request, timeout=30).close()
    except OSError as failed:
        return str(failed)
    return None


def main():
    online, found, wrong = "--online" in sys.argv, sorted(set(links())), 0
    for file, target in found:
        if re.match(r"https?:", target) and not target.startswith(OURS):
            reason = broken_there(target) if online and not EXAMPLE.match(target) else None
        else:
            reason = broken_here(file, target)
        if reason:
            wrong += 1
            print(f"{file.relative_to(ROOT)}: {target}: {reason}")
    print(f"note: {len(found)} links, {wrong} broken")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
