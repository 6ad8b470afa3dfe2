// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every program of a sanitizer build asks of the sanitizers, so that no test has to set an environment.
extern "C" const char *__asan_default_options() {
  // LLVM's headers poison unused memory of its allocators where they are compiled with the sanitizer; LLVM's libraries,
  // which are not, hand out the same memory without unpoisoning it. Leaks: LLVM keeps memory until its process ends.
  return "allow_user_poisoning=0:detect_container_overflow=0:detect_leaks=0:abort_on_error=1:handle_abort=1";
}

extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1:abort_on_error=1"; }

extern "C" const char *__tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }
