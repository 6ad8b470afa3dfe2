# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""With a window set at run time ARM64 code gives the bytes of this machine's, for int8 and int4 caches."""
import os

from moectest import check, comma, compiled, heldout_ids, run, same_files, scratch

prompt = comma(heldout_ids(200))
with scratch() as folder:
    for kv, flags in (("int8", ()), ("int4", ("--kv", "int4"))):
        files = {}
        for target in ("host", "arm64-dotprod"):
            files[target] = os.path.join(folder, f"{kv}-{target}.npy")
            run(compiled("int8", target, *flags), "--ids", prompt, "--max-tokens", 1, "--greedy", "--window", 25,
                "--sinks", 3, "--logits", files[target], target=target)
        check(same_files(files["host"], files["arm64-dotprod"]), f"{kv}: logits differ")
