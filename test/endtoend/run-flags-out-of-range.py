# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Each run-time flag out of its range, or against another one: exit code 2, one message that names it."""
import os

from moectest import check, compiled, run, scratch

prefix = compiled("int8")
IDS = ("--ids", "1,2,3")
CASES = (
    (("--threads", "0"), "--threads expects auto or a number from 1 to 64, but got '0'"),
    (("--threads", "65"), "--threads expects auto or a number from 1 to 64, but got '65'"),
    (("--threads", "many"), "--threads"),
    (("--lanes", "17"), "--lanes expects a number of reader threads from 1 to 16"),
    (("--cpus", "0-"), "--cpus is '0-', expected a list such as 0-3,6 of the CPUs that this process may use: "),
    (("--cpus", "1000"), "--cpus is '1000', but this process may not use CPU 1000; possible are "),
    (("--experts-used", "0"), "--experts-used expects a number from 1"),
    (("--experts-used", "5"), "--experts-used is 5, expected 0 (all) to the compiled 4"),
    (("--context", "0"), "--context"),
    (("--context", "99999999"), "--context is 99999999, expected at most the compiled context"),
    (("--window", "99999"), "--window is 99999, expected 0 (as compiled) to the compiled context"),
    (("--sinks", "3"), "without a window, in which every position is seen; set --window"),
    (("--on-full", "wait"), "--on-full expects stop or slide, but got 'wait'"),
    (("--on-full", "stop or slide"), "--on-full expects stop or slide"),
    (("--on-full", ""), "--on-full expects stop or slide"),
    (("--keep", "3"), "--keep needs --on-full slide"),
    (("--on-full", "slide", "--keep", "-1"), "--keep expects a number of tokens from 0"),
    (("--on-full", "slide", "--keep", "20", "--context", "40"), "--keep is 20, expected fewer than 20"),
    (("--on-full", "slide", "--max-tokens", "0"), "--on-full slide needs --max-tokens"),
    (("--pack-offset", "-1"), "--pack-offset expects a number of bytes from 0, but got '-1'"),
    (("--pack-offset", "9" * 18), "does not lie in"),
    (("--pack-bytes", "0"), "--pack-bytes expects a number of bytes from 1"),
    (("--min-p", "1.5"), "--min-p expects a number from 0 (off) to 1, but got '1.5'"),
    (("--greedy", "--min-p", "0.1"), "--greedy and --temperature, --top-k, --top-p or --min-p exclude each other"),
    (("--prompt-file", "x"), "--prompt, --prompt-file and --ids exclude each other"),
    (("--lock=1",), "--lock takes no value"),
)
for flags, text in CASES:
    refused = run(prefix, *IDS, *flags, code=2)
    check(text in refused.err and not refused.out, f"{flags}: {refused.err!r} lacks {text!r}")
    check(refused.err.count("error: ") == 1, f"{flags}: more than one message: {refused.err!r}")

# The same words in the other modes.
for flags, text in CASES:
    if flags[0] in ("--experts-used", "--cpus", "--context", "--window", "--sinks"):
        for mode in ("--bench", "--doctor"):
            refused = run(prefix, mode, *flags, code=2)
            check(text in refused.err and not refused.out, f"{mode} {flags}: {refused.err!r} lacks {text!r}")

with scratch() as folder:
    text = os.path.join(folder, "prompt.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("Once upon a time\n")
    options = ("--greedy", "--max-tokens", 8, "--quiet")
    expected = run(prefix, "--prompt", "Once upon a time", *options)
    check(run(prefix, "--prompt-file", text, *options).out == expected.out, "a prompt from a file gives another text")
    for missing in (os.path.join(folder, "none"), folder):
        refused = run(prefix, "--prompt-file", missing, code=1)
        check(missing in refused.err, f"{refused.err!r} does not name the file")
