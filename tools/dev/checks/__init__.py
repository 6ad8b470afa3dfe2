# SPDX-License-Identifier: Apache-2.0
"""Rules about the source tree that a script can check. Each module has `check(tree)`, which yields findings."""
