// SPDX-License-Identifier: Apache-2.0
/// \file
/// The start of moe-run on Android, which an NDK's crtbegin would bring: hands the kernel's argument block and `main`
/// to the C library. Source of the contract: bionic libc/arch-common/bionic/crtbegin.c, libc/bionic/libc_init_common.h
/// and crtbrand.S.
#include <stddef.h>
#include <stdint.h>

int main(int argc, char **argv);

namespace {

/// What the C library calls; the environment is not ours to read.
int startMain(int argc, char **argv, char **) { return main(argc, argv); }

/// Tables of functions to be run before and after main. The dynamic linker runs those before; there are none after,
/// since moe-run has no destructors of globals.
struct Structors {
  void *preinit, *init, *fini;
  size_t numPreinit, numInit, numFini;
};

struct IdentNote {
  uint32_t nameBytes, descriptionBytes, type;
  char name[8];
  uint32_t apiLevel;
};

/// Tells tools for which API level the program was made.
[[gnu::used, gnu::section(".note.android.ident"), gnu::aligned(4)]] const IdentNote kIdent = {8, 4, 1, "Android", 28};

} // namespace

extern "C" {
[[noreturn]] void __libc_init(void *arguments, void (*onExit)(), int (*main)(int, char **, char **),
                              const Structors *structors);

[[gnu::used]] void moerunStart(void *arguments) {
  const Structors none = {};
  __libc_init(arguments, nullptr, startMain, &none);
}
}

asm(".text\n"
    ".global _start\n"
    ".type _start, %function\n"
    "_start:\n"
    "  mov x29, #0\n"
    "  mov x30, #0\n"
    "  mov x0, sp\n"
    "  b moerunStart\n"
    ".size _start, .-_start\n");
