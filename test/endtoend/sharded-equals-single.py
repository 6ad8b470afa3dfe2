# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A checkpoint in three shards compiles to the same pack as the single file."""
import os

from brokenmodel import Checkpoint
from moectest import check, compiled, moe_pack, moec, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    model.shard(3)
    out = os.path.join(folder, "sharded")
    moec("compile", model.folder, "--target", "host", "--quant", "int8", "-o", out)

    def records(pack):
        # Ids and the header depend on file names of the sources; the records do not.
        return [line for line in moe_pack("list", pack).out.splitlines() if "expert" in line or "resident" in line]

    check(records(out + ".moepack") == records(compiled("int8") + ".moepack"), "the records differ")
