# SPDX-License-Identifier: Apache-2.0
"""Rows of results: what was measured, of what, how, and against which bar."""
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys

from engines import ROOT, replaced_file


def commit_of_sources():
    """The commit, with + where files differ from it; "unknown" outside a clone."""
    git = ["git", "-C", ROOT]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], check=True, capture_output=True, text=True)
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def name_of_processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def median(values):
    return statistics.median(values)


class Rows:
    """Prints a line for each row as it comes, and writes all of them to a file at the end. Without `judge` no figure is
    held against a bar."""

    def __init__(self, commit, path, judge=True):
        self.rows, self.path, self.judge = [], path, judge
        # Before hours of measuring.
        folder = os.path.dirname(os.path.abspath(path)) if path else "."
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SystemExit(f"error: {path} cannot be written: {folder} is not a folder in which files may be made")
        self.common = {
            "label": "measured", "date": datetime.date.today().isoformat(), "commit": commit or commit_of_sources(),
            "machine": f"{name_of_processor()}, {os.cpu_count()} cores", "command": shlex.join(sys.argv)}

    def add(self, bar, level, target, model, threads, figure, unit, details, least=None, most=None):
        """A row. `least` or `most` is the bar that the figure is held against."""
        if not self.judge:
            least = most = None
        is_met = None
        if least is not None or most is not None:
            is_met = (least is None or figure >= least) and (most is None or figure <= most)
        self.rows.append({**self.common, "bar": bar, "level": level, "target": target, "model": model,
                          "threads": threads, "figure": figure, "unit": unit, "at_least": least, "at_most": most,
                          "is_met": is_met, **details})
        wanted = f" (bar: {'at least' if most is None else 'at most'} {least if most is None else most:g}, " \
                 f"{'met' if is_met else 'missed'})" if is_met is not None else ""
        rest = ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                         for key, value in details.items())
        print(f"{bar} | {model} | {threads} threads | {figure:.3f} {unit}{wanted} | {rest}", flush=True)

    def write(self):
        if not self.path:
            return
        with replaced_file(self.path) as file:
            for row in self.rows:
                file.write(json.dumps(row) + "\n")
