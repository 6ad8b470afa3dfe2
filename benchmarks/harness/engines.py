# SPDX-License-Identifier: Apache-2.0
"""The processes that the harness measures in turns: read loop, compiled models, peer. Each answers lines with lines."""
import argparse
import contextlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def run_main(main):
    """Runs a program of the harness: what the system or a program refuses ends it with one error."""
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: ended with code {error.returncode}: {' '.join(error.cmd)}")
    except OSError as error:
        sys.exit(f"error: {error.filename or 'the system'}: {error.strerror}")


def count(text):
    """The type of flags that are a number from 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expects a number from 1, but got '{text}'")
    return int(text)


@contextlib.contextmanager
def replaced_file(path):
    """A text file that gets its name when it is whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


class Ended(SystemExit):
    """A worker ended before it answered."""


class Worker:
    """A process that first prints one JSON object, `head`, and then one for each line that it gets."""

    def __init__(self, command, num_heads=1, before_exec=None):
        self.command = list(map(str, command))
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=before_exec)
        self.heads = [self.read() for _ in range(num_heads)]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Ended(f"error: ended with code {self.process.wait()}: {' '.join(self.command)}")
        return json.loads(line)

    def ask(self, request):
        with contextlib.suppress(BrokenPipeError):  # it ended: reading says so
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        return self.read()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


class ReadLoop(Worker):
    """The best read loop for each number of threads."""

    def __init__(self, programs, threads, num_bytes):
        super().__init__([os.path.join(programs, "read-bandwidth"), "--serve", "--repetitions", 3, "--bytes", num_bytes,
                          "--threads", ",".join(map(str, threads))], len(threads))

    def bytes_per_s(self, threads):
        return self.ask(str(threads))["bytes_per_s"]


class Engine(Worker):
    """A model in ours or in the peer's hands; requests as in protocol.py."""

    def measure(self, what, depth, tokens, threads):
        return self.ask(json.dumps({"do": what, "depth": depth, "tokens": tokens, "threads": threads}))

    def request(self, what, **values):
        return self.ask(json.dumps({"do": what, **values}))

    def memory(self):
        return self.ask(json.dumps({"do": "memory"}))


@contextlib.contextmanager
def opened(worker):
    """The worker (or None), closed at the end."""
    try:
        yield worker
    finally:
        if worker:
            worker.close()


def open_model(prefix, threads, chunk=0):
    return Engine([sys.executable, "-B", os.path.join(HERE, "moec_worker.py"), prefix + ".so", "--threads", threads,
                   "--chunk", chunk])


def open_peer(python, gguf, flash_attention, context):
    return Engine([python, "-B", os.path.join(HERE, "peer_worker.py"), gguf, "--flash-attention", flash_attention,
                   "--context", context])


def can_import(python, packages):
    """Whether an interpreter has the packages; the peer is left out where it has not."""
    if not python:
        return False
    try:
        return subprocess.run([python, "-c", "import " + ", ".join(packages)], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0
    except OSError:  # no such program
        return False


@contextlib.contextmanager
def busy_core(is_pinned):
    """Another process that never waits, while the block runs: pinned to the last core, or where the system puts it."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        if is_pinned:
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        yield
    finally:
        process.kill()
        process.wait()
