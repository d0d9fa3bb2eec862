#!/usr/bin/env python3
"""Reads compose files for the tests: compose.py mounts FILE | lay FILE FOLDER | command FILE."""

import os
import pathlib
import re
import shlex
import shutil
import sys

import yaml


def bind_mounts(file):
    base = pathlib.Path(file).parent
    for name, service in yaml.safe_load(pathlib.Path(file).read_text())["services"].items():
        for volume in service.get("volumes", []):
            source, target, *options = volume.split(":")
            if source.startswith("."):
                yield name, base / source, target, options


def mounts(file):
    """What is mounted exists, and is not written to."""
    for name, source, _, options in bind_mounts(file):
        assert source.exists(), f"{name} mounts {source}, which does not exist"
        assert options == ["ro"], f"{name} could write to {source}"


def lay(file, folder):
    """Copies what each service mounts to FOLDER/SERVICE/TARGET."""
    for name, source, target, _ in bind_mounts(file):
        into = pathlib.Path(folder) / name / target.lstrip("/")
        into.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, into)


def command(file):
    """The exporter's command with the variables of this process put in."""
    words = yaml.safe_load(pathlib.Path(file).read_text())["services"]["exporter"]["command"]
    print(shlex.join(re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: os.environ[found[1]], word) for word in words))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
