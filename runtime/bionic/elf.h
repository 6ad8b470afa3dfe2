// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of ELF that runtime and moe-run read.
/// Source: System V ABI, chapter 4 (Object Files); machine numbers of the gABI registry.
#ifndef RUNTIME_BIONIC_ELF_H
#define RUNTIME_BIONIC_ELF_H

#include <stdint.h>

#define EI_CLASS 4
#define EI_DATA 5
#define EI_NIDENT 16
#define ELFMAG "\177ELF"
#define SELFMAG 4
#define ELFCLASS64 2
#define ELFDATA2LSB 1
#define ET_DYN 3
#define EM_X86_64 62
#define EM_AARCH64 183
#define PT_LOAD 1
#define PT_DYNAMIC 2
#define DT_NEEDED 1
#define DT_STRTAB 5

struct Elf64_Ehdr {
  unsigned char e_ident[EI_NIDENT];
  uint16_t e_type;
  uint16_t e_machine;
  uint32_t e_version;
  uint64_t e_entry;
  uint64_t e_phoff;
  uint64_t e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize;
  uint16_t e_phentsize;
  uint16_t e_phnum;
  uint16_t e_shentsize;
  uint16_t e_shnum;
  uint16_t e_shstrndx;
};

struct Elf64_Phdr {
  uint32_t p_type;
  uint32_t p_flags;
  uint64_t p_offset;
  uint64_t p_vaddr;
  uint64_t p_paddr;
  uint64_t p_filesz;
  uint64_t p_memsz;
  uint64_t p_align;
};

struct Elf64_Dyn {
  int64_t d_tag;
  union {
    uint64_t d_val;
    uint64_t d_ptr;
  } d_un;
};

static_assert(sizeof(Elf64_Dyn) == 16 && sizeof(Elf64_Ehdr) == 64 && sizeof(Elf64_Phdr) == 56);

#endif
