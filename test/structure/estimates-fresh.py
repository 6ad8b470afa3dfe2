# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The tables of docs/estimates.md are those that tools/dev/make-estimates.py writes."""
import os
import sys

from moectest import SOURCE, execute, program

execute([sys.executable, "-B", os.path.join(SOURCE, "tools", "dev", "make-estimates.py"), "--check", "--moec",
         program("moec")])
