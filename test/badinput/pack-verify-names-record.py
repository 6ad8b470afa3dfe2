# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-pack verify names what is damaged: version, header, directory, tables, resident tensor, expert, row."""
import json
import os
import shutil

from moectest import check, compiled, expect_error, moe_pack, scratch

prefix = compiled("mixed")
listed = json.loads(moe_pack("list", prefix + ".moepack", "--json").out)
records, tensors = listed["directory"], listed["tensors"]
DIRECTORY, RECORD_BYTES = 16384, 48


def name_of(index):
    record = records[index]
    first = next(tensor["name"] for tensor in tensors if tensor["record"] == index)
    if record["kind"] == "expert":
        return f"expert {record['expert']} of layer {record['layer']} ('{first}'"
    return f"{'resident tensor' if record['kind'] == 'resident' else 'row table'} '{first}'"


cases = [(8, "version"), (60, "header"), (DIRECTORY + 5 * RECORD_BYTES + 2, "directory"),
         (DIRECTORY + len(records) * RECORD_BYTES + 3, "tensor table")]
for kind in ("resident", "expert", "rows"):
    indices = [i for i, record in enumerate(records) if record["kind"] == kind]
    check(indices, f"no record of kind {kind}")
    for index in {indices[0], indices[len(indices) // 2], indices[-1]}:
        cases.append((records[index]["offset"] + records[index]["bytes"] // 2, name_of(index)))
rows = next(record for record in records if record["kind"] == "rows")
cases.append((rows["offset"] + 7 * (rows["row_bytes"] + 8) + 1, "the first damaged row is 7"))

with scratch() as folder:
    pack = os.path.join(folder, "damaged.moepack")
    shutil.copy(prefix + ".moepack", pack)
    for offset, text in cases:
        for is_mended in (False, True):
            with open(pack, "r+b") as file:
                file.seek(offset)
                byte = file.read(1)[0]
                file.seek(offset)
                file.write(bytes([byte ^ 8]))
            found = moe_pack("verify", pack, code=None)
            if not is_mended:
                expect_error(found, "damaged.moepack", text)
                print(offset, found.err.strip()[:200])
        check(found.code == 0, f"mended at {offset}: {found.err}")
    os.truncate(pack, os.path.getsize(pack) - 5)
    expect_error(moe_pack("verify", pack, code=None), "damaged.moepack", "is truncated: found")
