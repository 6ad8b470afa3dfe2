#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs llama.cpp for the harness: one model, one request a line on stdin, one JSON object a line on stdout.

usage: peer_worker.py MODEL.gguf [--flash-attention 0|1] [--context N] [--mapped 0|1]

Requests: protocol.py; `threads` may change from one to the next. The options are those with which the library is
fastest on a CPU: weights in its repacked buffer types, everything resident, n_batch = n_ubatch = 512. With --mapped 1
the system keeps of the file what there is memory for.
Needs the Python package llama_cpp.
"""
import argparse
import ctypes
import os
import sys

import llama_cpp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protocol  # noqa: E402


class Peer:
    def __init__(self, arguments):
        # Only its own errors matter; the rest would drown the answers.
        self.log = llama_cpp.llama_log_callback(self.on_log)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.before_bytes = protocol.resident_bytes()
        options = llama_cpp.llama_model_default_params()
        options.n_gpu_layers = 0
        if arguments.mapped:  # repacking would copy every weight
            options.load_mode, options.use_extra_bufts = llama_cpp.LLAMA_LOAD_MODE_MMAP, False
        self.model = llama_cpp.llama_model_load_from_file(arguments.model.encode(), options)
        if not self.model:
            sys.exit(f"llama.cpp does not load {arguments.model}")
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = arguments.context
        options.n_batch = options.n_ubatch = 512
        options.n_threads = options.n_threads_batch = 1
        options.flash_attn_type = arguments.flash_attention
        options.no_perf = True
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        if not self.context:
            sys.exit("llama.cpp makes no context")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.ids = protocol.token_ids(self.vocabulary, arguments.context)
        self.length = 0

    def on_log(self, level, text, _):
        if level == 4:  # GGML_LOG_LEVEL_ERROR
            sys.stderr.write(text.decode("utf-8", "replace"))

    def describe(self):
        return {"peer": f"llama.cpp of llama-cpp-python {llama_cpp.__version__}",
                "system": llama_cpp.llama_print_system_info().decode().strip()}

    def set_threads(self, threads):
        llama_cpp.llama_set_n_threads(self.context, threads, threads)

    def truncate(self, length):
        if not llama_cpp.llama_memory_seq_rm(self.memory, 0, length, -1):
            sys.exit("llama.cpp forgets no tokens")
        self.length = length

    def feed(self, count):
        """Feeds the next tokens, in batches, and waits for the logits of the last."""
        while count:
            part = min(count, 512)
            ids = (ctypes.c_int32 * part)(*self.ids[self.length:self.length + part])
            if llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(ids, part)) != 0:
                sys.exit("llama_decode failed")
            self.length += part
            count -= part
        llama_cpp.llama_synchronize(self.context)

    def step(self):
        self.feed(1)

    def joins(self):
        return None

    def resident(self):
        return {"before_bytes": self.before_bytes, "peak_bytes": protocol.peak_bytes()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--flash-attention", type=int, choices=(0, 1), default=1)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--mapped", type=int, choices=(0, 1), default=0, help="1: the file mapped, not repacked")
    protocol.serve(Peer(parser.parse_args()))


if __name__ == "__main__":
    main()
