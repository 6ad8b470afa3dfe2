# SPDX-License-Identifier: Apache-2.0
"""GoogleTest programs in build/test/unit; every case counts as one test."""
import os

import lit.formats

config.name = "moec-unit"
config.test_format = lit.formats.GoogleTest(".", "Tests")
config.test_source_root = os.path.join(config.moec_build, "test", "unit")
config.test_exec_root = config.test_source_root
config.environment["MOEC_SOURCE"] = config.moec_source
config.environment["MOEC_BUILD"] = config.moec_build
