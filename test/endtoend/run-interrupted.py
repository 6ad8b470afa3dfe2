# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Ctrl-C ends a generation cleanly with exit code 3, a second one the program; a closed pipe is one message. Whatever
ends it, no unfinished file stays."""
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import termios
import time

from moectest import check, compiled, program, scratch

prefix = compiled("int8")
# Goes on until it is stopped: the seed meets no stop token before a pipe of one page is full.
ENDLESS = [program("moe-run"), prefix + ".so", "--ids", "46,1316", "--on-full", "slide", "--max-tokens", "1000000",
           "--temperature", "1", "--seed", "3", "--context", "256"]
SET_PIPE_SIZE, PAGE = 1031, 4096


def start(*flags):
    """The program, once it has begun to write."""
    process = subprocess.Popen([*ENDLESS, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    fcntl.fcntl(process.stdout.fileno(), SET_PIPE_SIZE, PAGE)
    if "--json" not in flags:
        check(select.select([process.stdout], [], [], 60)[0], "nothing was written")
    return process


def waiting_bytes(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4))[0]


process = start()
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=60)
check(process.returncode == 3 and b"ended by cancelled" in err and out, f"{process.returncode}, {err!r}")
check(b"error" not in err, f"a message beside the counters: {err!r}")

process = start("--json")
time.sleep(0.5)  # nothing tells from outside that it generates; before that the signal ends the program at once
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=60)
check(process.returncode in (3, -signal.SIGINT), f"{process.returncode}, {err!r}")
if process.returncode == 3:
    check(json.loads(out)["finish_reason"] == "cancelled", out[-300:])

# With nobody who reads, the program waits in a write, where a cancel does not reach it.
# Nothing tells from outside that it waits, and a slow machine may still generate: then the first interrupt ends it.
for attempt in range(5):
    process = start()
    filled = -1
    while filled < PAGE - 64 or filled != waiting_bytes(process.stdout):
        check(process.poll() is None, "the generation ended by itself")
        filled = waiting_bytes(process.stdout)
        time.sleep(0.2 * (attempt + 1))
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        time.sleep(0.2)
    if process.wait(timeout=60) != 3:
        break
check(process.returncode == -signal.SIGTERM, f"the second signal ended it with {process.returncode}")

process = start()
os.read(process.stdout.fileno(), 1)
process.stdout.close()
err = process.stderr.read()
check(process.wait(timeout=60) == 1, f"a closed pipe ended it with {process.returncode}")
check(err == b"error: the output was refused: Broken pipe\n", f"{err!r}")

# At the prompt nothing is generated: the signal ends the program, and the file that it has begun goes.
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
    with scratch() as folder:
        chat = [program("moe-run"), prefix + ".so", "--chat", "--trace", os.path.join(folder, "trace")]
        process = subprocess.Popen(chat, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.listdir(folder) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        check(process.wait(timeout=60) == -number, f"signal {number} ended it with {process.returncode}")
        check(os.listdir(folder) == [], f"signal {number} left {os.listdir(folder)} behind")

# A hang-up while it generates ends the generation: the trace is whole.
with scratch() as folder:
    process = start("--trace", os.path.join(folder, "trace"))
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    check(process.returncode == 3 and os.listdir(folder) == ["trace"], f"{err!r}, {os.listdir(folder)}")
