#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled model for the harness, through its C API: a request a line on stdin, a JSON object a line on stdout.

usage: moec_worker.py OUT.so [--threads N] [--chunk N]

Requests: protocol.py; `threads` must be the number given here, which is fixed when the model is opened. Main source of
the structures: include/moert/moert.h.
"""
import argparse
import ctypes
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protocol  # noqa: E402

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/moert/moert.h")
with open(HEADER, encoding="utf-8") as header:
    API_VERSION = int(re.search(r"#define MOERT_API_VERSION (\d+)u", header.read()).group(1))
FUNCTIONS = ("plan", "open", "close", "model_info", "model_plan", "tokenize", "detokenize", "session_create",
             "session_destroy", "prefill", "decode", "logits", "sample", "generate", "session_cancel", "session_reset",
             "session_length", "statistics", "status_name", "trim", "session_rewind")


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 764)]


class Api(ctypes.Structure):
    _fields_ = [("api_version", ctypes.c_uint32), ("struct_bytes", ctypes.c_uint32)] + [
        (name, ctypes.c_void_p) for name in FUNCTIONS]


class OpenOptions(ctypes.Structure):
    """The first fields; the library takes the rest as 0."""
    _fields_ = [("struct_bytes", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("pack_path", ctypes.c_char_p),
                ("pack_fd", ctypes.c_int32), ("reader_lanes", ctypes.c_uint32)]


class ModelInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("target", ctypes.c_char_p), ("vocab_size", ctypes.c_uint32),
                ("context", ctypes.c_uint32), ("rest", ctypes.c_uint8 * 256)]


class Statistics(ctypes.Structure):
    _fields_ = [("expert_hits", ctypes.c_uint64), ("expert_misses", ctypes.c_uint64),
                ("expert_bytes_read", ctypes.c_uint64), ("stall_ns", ctypes.c_uint64), ("joins", ctypes.c_uint64),
                ("rest", ctypes.c_uint8 * 1024)]


class Model:
    def __init__(self, arguments):
        try:
            library = ctypes.CDLL(os.path.abspath(arguments.so))
        except OSError as error:
            sys.exit(f"error: {error}")
        library.moert_get_api.restype = ctypes.POINTER(Api)
        api = library.moert_get_api(ctypes.c_uint32(API_VERSION))
        if not api:
            sys.exit(f"{arguments.so} does not offer version {API_VERSION} of the C API")
        self.api, self.error = api.contents, Error()
        self.threads, self.chunk = arguments.threads, arguments.chunk
        pack = os.path.splitext(arguments.so)[0] + ".moepack"
        self.model, self.session, info = ctypes.c_void_p(), ctypes.c_void_p(), ModelInfo()
        options = self.open_options(pack)
        self.before_bytes = protocol.resident_bytes()
        self.call("open", ctypes.byref(options), ctypes.byref(self.model))
        self.call("model_info", self.model, ctypes.byref(info))
        self.call("session_create", self.model, ctypes.byref(self.session))
        self.name, self.target = info.name.decode(), info.target.decode()
        self.vocab_size = info.vocab_size
        self.ids = protocol.token_ids(info.vocab_size, info.context)
        self.decode = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)(self.api.decode)
        self.length = 0

    def open_options(self, pack):
        return OpenOptions(ctypes.sizeof(OpenOptions), self.threads, pack.encode(), -1, 0)

    def call(self, name, *arguments):
        function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * (len(arguments) + 1))(getattr(self.api, name))
        if function(*[ctypes.cast(a, ctypes.c_void_p) if not isinstance(a, int) else a for a in arguments],
                    ctypes.addressof(self.error)) != 0:
            sys.exit(f"{name}: {self.error.message.decode('utf-8', 'replace')}")

    def describe(self):
        return {"model": self.name, "target": self.target}

    def set_threads(self, threads):
        if threads != self.threads:
            sys.exit(f"this worker has {self.threads} threads, but {threads} are asked for")

    def truncate(self, length):
        self.call("session_rewind", self.session, length)
        self.length = length

    def feed(self, count):
        ids = (ctypes.c_int32 * count)(*self.ids[self.length:self.length + count])
        self.call("prefill", self.session, ids, count, self.chunk, 0, 0)
        self.length += count

    def step(self):
        if self.decode(self.session, self.ids[self.length], ctypes.addressof(self.error)) != 0:
            sys.exit(f"decode: {self.error.message.decode('utf-8', 'replace')}")
        self.length += 1

    def joins(self):
        statistics = Statistics()
        self.call("statistics", self.model, ctypes.byref(statistics))
        return statistics.joins

    def resident(self):
        return {"before_bytes": self.before_bytes, "peak_bytes": protocol.peak_bytes()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("so")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--chunk", type=int, default=0, help="tokens of prefill computed at once (as compiled)")
    protocol.serve(Model(parser.parse_args()))


if __name__ == "__main__":
    main()
