/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Plugin for QEMU's user-mode emulation: how often each translation block ran. A block is a run of instructions that
/// ends at a branch. At exit one line a block goes to the file `out=`: address, instructions, executions. Counts are
/// exact for a program of one thread. Build: cc -shared -fPIC. Used by tools/dev/count-arm-instructions.py.
///
/// The declarations are those of QEMU's plugin interface, version 1, whose header the package does not contain.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;

enum { INLINE_ADD_U64 = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*callback)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *counter,
                                              uint64_t value);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*callback)(plugin_id, void *), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct block {
  uint64_t address, instructions, executions;
  struct block *next;
};

static struct block *blocks;
static char *output;

static void translated(plugin_id id, struct qemu_plugin_tb *translation) {
  (void)id;
  struct block *block = calloc(1, sizeof *block);
  if (!block)
    abort();
  block->address = qemu_plugin_tb_vaddr(translation);
  block->instructions = qemu_plugin_tb_n_insns(translation);
  block->next = blocks;
  blocks = block;
  qemu_plugin_register_vcpu_tb_exec_inline(translation, INLINE_ADD_U64, &block->executions, 1);
}

static void finished(plugin_id id, void *data) {
  (void)id;
  (void)data;
  FILE *file = fopen(output, "w");
  if (!file)
    return;
  for (struct block *block = blocks; block; block = block->next)
    if (block->executions)
      fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", block->address, block->instructions, block->executions);
  fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info;
  for (int i = 0; i < argc; ++i)
    if (strncmp(argv[i], "out=", 4) == 0)
      output = strdup(argv[i] + 4);
  if (!output) {
    fprintf(stderr, "count-blocks expects out=FILE as argument\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}
