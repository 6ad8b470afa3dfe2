# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A pack cut short, with a flipped bit, of another model, or missing: an error that says which, no wrong text."""
import os
import shutil

from moectest import check, compiled, execute, expect_error, moe_pack, program, scratch

prefix = compiled("mixed")
whole = os.path.getsize(prefix + ".moepack")


def run_with(pack):
    """All experts are read: every id of a long prompt passes through the pager."""
    ids = ",".join(str(i * 37 % 2000) for i in range(200))
    return execute([program("moe-run"), prefix + ".so", "--pack", pack, "--ids", ids, "--max-tokens", "1", "--greedy"],
                   code=None)


with scratch() as folder:
    pack = os.path.join(folder, "damaged.moepack")
    for lost in (1, 4096, whole // 2, whole - 100):
        shutil.copy(prefix + ".moepack", pack)
        os.truncate(pack, whole - lost)
        expect_error(run_with(pack), "damaged.moepack")
        expect_error(moe_pack("verify", pack, code=None), "damaged.moepack")
    # One bit in the header, the directory, the middle and near the end.
    for offset in (24, 16384 + 8, whole // 2, whole - 16384 * 2):
        shutil.copy(prefix + ".moepack", pack)
        with open(pack, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 4]))
        verified = moe_pack("verify", pack, code=None)
        expect_error(verified, "damaged.moepack")
        found = run_with(pack)
        check(found.code == 1 or offset > 20000, f"bit flipped at {offset}: exit code {found.code}")
        if found.code == 0:
            # Padding, or a record that was not read: then the text is that of the whole pack.
            check(found.out == run_with(prefix + ".moepack").out, f"bit flipped at {offset}: other text")
    expect_error(run_with(compiled("int8") + ".moepack"),
                 ("another model", "does not belong", "do not belong", "mismatch", "built with"))
    expect_error(run_with(os.path.join(folder, "absent.moepack")), "absent.moepack")
    with open(pack, "wb") as file:
        file.write(b"not a pack at all")
    expect_error(run_with(pack), "damaged.moepack")
