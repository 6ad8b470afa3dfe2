// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finding and loading a compiled model. The ELF file is checked before the loader sees it: mapping a library that was
/// cut short ends in a bus error.
#include "tools/moe-run/Library.h"

#include "tools/moe-run/Interrupt.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moerun {

namespace {

#if defined(__x86_64__)
constexpr unsigned kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kOwnMachine = EM_AARCH64;
#else
#error "unknown machine"
#endif

const char *machineName(unsigned machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "arm64";
  default:
    return "an unknown machine";
  }
}

/// Prints the argument so that a shell reads it back.
void printQuoted(const char *text) {
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=+:@%";
  if (*text && strspn(text, plain) == strlen(text)) {
    fputs(text, stderr);
    return;
  }
  fputc('\'', stderr);
  for (; *text; ++text)
    *text == '\'' ? fputs("'\\''", stderr) : fputc(*text, stderr);
  fputc('\'', stderr);
}

constexpr bool kOnAndroid =
#if defined(__ANDROID__)
    true;
#else
    false;
#endif

/// Whether the library asks for Android's C library, which is called libc.so, without a number. The name is looked up
/// where the first segment lies in the file as in memory, which moec's linker sees to.
bool asksForAndroid(FILE *file, const Elf64_Ehdr &header) {
  Elf64_Phdr segment = {};
  for (unsigned i = 0; i < header.e_phnum && segment.p_type != PT_DYNAMIC; ++i)
    if (fseek(file, static_cast<long>(header.e_phoff + i * sizeof(segment)), SEEK_SET) != 0 ||
        fread(&segment, sizeof(segment), 1, file) != 1)
      return false;
  uint64_t strings = 0, name = UINT64_MAX;
  Elf64_Dyn entry = {};
  bool isRead = segment.p_type == PT_DYNAMIC && fseek(file, static_cast<long>(segment.p_offset), SEEK_SET) == 0;
  for (uint64_t i = 0; isRead && i < segment.p_filesz / sizeof(entry) && fread(&entry, sizeof(entry), 1, file) == 1;
       ++i) {
    strings = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : strings;
    name = entry.d_tag == DT_NEEDED && name == UINT64_MAX ? entry.d_un.d_val : name;
  }
  char text[8] = {};
  return name < LONG_MAX / 2 && strings < LONG_MAX / 2 &&
         fseek(file, static_cast<long>(strings + name), SEEK_SET) == 0 && fread(text, sizeof(text), 1, file) == 1 &&
         memcmp(text, "libc.so", sizeof(text)) == 0;
}

bool androidError(const Options &options) {
  const char *path = options.libraryPath;
  int stem = static_cast<int>(strlen(path));
  stem -= stem > 3 && strcmp(path + stem - 3, ".so") == 0 ? 3 : 0;
  return printError("%s is for Android, this is another system; run it on a phone with %.*s.run/run-on-device.sh", path,
                    stem, path);
}

bool foreignError(const Options &options, unsigned machine) {
  printError("%s is for %s, this machine is %s", options.libraryPath, machineName(machine), machineName(kOwnMachine));
  if (machine == EM_AARCH64) {
    // The programs for arm64 stand in a folder beside this one; without it, name where a build puts them.
    char own[PATH_MAX], beside[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    snprintf(beside, sizeof(beside), "%.*s/aarch64/moe-run", slash ? static_cast<int>(slash - own) : 0, own);
    fputs("run it under emulation (Debian package qemu-user):\n  qemu-aarch64 -L /usr/aarch64-linux-gnu ", stderr);
    printQuoted(access(beside, X_OK) == 0 ? beside : "build/bin/aarch64/moe-run");
    for (int i = 1; i < options.numArguments; ++i) {
      fputc(' ', stderr);
      printQuoted(options.arguments[i]);
    }
    fputc('\n', stderr);
  } else if (machine == EM_X86_64) {
    fputs("run it with build/bin/moe-run on an x86-64 machine\n", stderr);
  }
  return false;
}

/// Whether every part that the headers name lies in the file.
bool isWhole(FILE *file, const Elf64_Ehdr &header, uint64_t sizeBytes) {
  auto inside = [&](uint64_t offset, uint64_t bytes) { return offset <= sizeBytes && bytes <= sizeBytes - offset; };
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      !inside(header.e_phoff, static_cast<uint64_t>(header.e_phnum) * sizeof(Elf64_Phdr)) ||
      !inside(header.e_shoff, static_cast<uint64_t>(header.e_shnum) * header.e_shentsize))
    return false;
  if (header.e_phoff > LONG_MAX || fseek(file, static_cast<long>(header.e_phoff), SEEK_SET) != 0)
    return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (fread(&segment, sizeof(segment), 1, file) != 1 || !inside(segment.p_offset, segment.p_filesz))
      return false;
  }
  return true;
}

bool checkOpened(const Options &options, FILE *file) {
  const char *path = options.libraryPath;
  struct stat status;
  if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
    return printError("%s is not a file", path);
  uint64_t sizeBytes = static_cast<uint64_t>(status.st_size);
  Elf64_Ehdr header = {};
  if (fread(&header, sizeof(header), 1, file) != 1 || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return printError("%s is not a compiled model: expected an ELF library as moec compile writes it, found %s", path,
                      sizeBytes < sizeof(header) ? "a file that is too short" : "another format");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return printError("%s is not a compiled model: expected a 64-bit little-endian shared library", path);
  bool isComplete = isWhole(file, header, sizeBytes);
  if (!kOnAndroid && isComplete && asksForAndroid(file, header))
    return androidError(options);
  if (header.e_machine != kOwnMachine)
    return foreignError(options, header.e_machine);
  if (!isComplete)
    return printError("%s is cut short: its headers name bytes behind its end at %llu; compile or copy it again", path,
                      static_cast<unsigned long long>(sizeBytes));
  return true;
}

bool fileExists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/// Builds "<folder><stem><suffix>", zero-terminated.
bool joinPack(Array<char> &path, const char *folder, size_t folderLength, const char *stem, size_t stemLength,
              const char *suffix) {
  path.setSize(0);
  return path.append(folder, folderLength) && path.append(stem, stemLength) && path.append(suffix, strlen(suffix) + 1);
}

} // namespace

bool OpenModel::openModel(const Options &options, moert_error &error, int &exitCode) {
  return checkLibrary(options) && (api = loadLibrary(options.libraryPath)) && openLoaded(options, error, exitCode);
}

bool OpenModel::openLoaded(const Options &options, moert_error &error, int &exitCode) {
  Array<char> packPath;
  if (!findPack(options, packPath))
    return false;
  moert_open_options open = openOptions(options, packPath.data());
  if (options.tracePath && !trace.open(options.tracePath, open))
    return false;
  if (options.json)
    guesses.watch(open);
  if (api->open(&open, &model, &error) != MOERT_STATUS_OK) {
    exitCode = printRefusal(*api, error);
    return false;
  }
  moert_model_info info = {};
  moert_plan_info plan = {};
  if (!trace.isOpen() && !options.json)
    return true;
  if (api->model_info(model, &info, &error) != MOERT_STATUS_OK ||
      api->model_plan(model, &plan, &error) != MOERT_STATUS_OK)
    return printError("%s", error.message);
  return (!options.json || guesses.begin(info.num_layers)) && (!trace.isOpen() || trace.begin(info, plan));
}

bool OpenModel::finishTrace() {
  moert_statistics statistics = {};
  return !trace.isOpen() ||
         (api->statistics(model, &statistics, nullptr) == MOERT_STATUS_OK && trace.finish(statistics));
}

OpenModel::~OpenModel() {
  watchInterrupts(nullptr, nullptr);
  if (session)
    api->session_destroy(session);
  if (model)
    api->close(model);
}

bool checkLibrary(const Options &options) {
  // Opening a pipe would wait for its other end.
  struct stat status;
  if (stat(options.libraryPath, &status) == 0 && !S_ISREG(status.st_mode))
    return printError("%s is not a file", options.libraryPath);
  FILE *file = fopen(options.libraryPath, "rb");
  if (!file)
    return printError("cannot open %s: %s", options.libraryPath, strerror(errno));
  bool right = checkOpened(options, file);
  fclose(file);
  return right;
}

const moert_api *loadLibrary(const char *path, const moert_model_descriptor **descriptor) {
  // With a slash in it the loader takes the path as it is, instead of searching.
  char *absolute = realpath(path, nullptr);
  if (!absolute) {
    printError("cannot open %s: %s", path, strerror(errno));
    return nullptr;
  }
  void *library = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
  free(absolute);
  if (!library) {
    printError("cannot load %s: %s", path, dlerror());
    return nullptr;
  }
  auto getApi = reinterpret_cast<const moert_api *(*)(uint32_t)>(dlsym(library, "moert_get_api"));
  if (!getApi) {
    printError("%s is not a compiled model: it has no function moert_get_api", path);
    return nullptr;
  }
  const moert_api *api = getApi(MOERT_API_VERSION);
  if (!api || api->struct_bytes < sizeof(moert_api)) {
    printError("%s does not offer version %u of the API; compile the model again with the moec of this moe-run", path,
               MOERT_API_VERSION);
    return nullptr;
  }
  if (descriptor)
    *descriptor = static_cast<const moert_model_descriptor *>(dlsym(library, "moert_model_v1"));
  return api;
}

static uint32_t evictionOf(const char *name) {
  return !name                      ? MOERT_EVICTION_DEFAULT
         : strcmp(name, "lru") == 0 ? MOERT_EVICTION_LRU
         : strcmp(name, "lfu") == 0 ? MOERT_EVICTION_LFU
                                    : MOERT_EVICTION_FREQUENCY_RECENCY;
}

moert_open_options openOptions(const Options &options, const char *packPath) {
  moert_open_options open = {};
  open.struct_bytes = sizeof(open);
  open.threads = static_cast<uint32_t>(options.threads);
  open.pack_path = packPath;
  open.pack_fd = -1;
  open.reader_lanes = static_cast<uint32_t>(options.lanes);
  open.budget_bytes = options.memoryBytes;
  open.context = static_cast<uint32_t>(options.context);
  open.window = static_cast<uint32_t>(options.window);
  open.sinks = options.hasSinks && !options.sinks ? UINT32_MAX : static_cast<uint32_t>(options.sinks);
  open.pack_offset = options.packOffset;
  open.pack_bytes = options.packBytes;
  open.eviction = evictionOf(options.eviction);
  open.experts_used = static_cast<uint32_t>(options.expertsUsed);
  open.lock_memory = options.lock;
  open.buffered_reads = options.bufferedReads;
  open.preload = options.preload || options.bench; // what it measures is not the loading
  open.read_delay_us = static_cast<uint32_t>(options.delayReadsUs);
  open.cpus = options.cpus;
  open.on_full = options.slides() ? MOERT_ON_FULL_SLIDE : MOERT_ON_FULL_STOP;
  if (options.prediction)
    open.prediction = strcmp(options.prediction, "off") == 0      ? MOERT_PREDICTION_OFF
                      : strcmp(options.prediction, "always") == 0 ? MOERT_PREDICTION_ALWAYS
                                                                  : MOERT_PREDICTION_AUTO;
  open.keep = options.hasKeep && !options.keep ? UINT32_MAX : static_cast<uint32_t>(options.keep);
  open.state_checkpoints = options.hasStateCheckpoints && !options.stateCheckpoints
                               ? UINT32_MAX
                               : static_cast<uint32_t>(options.stateCheckpoints);
  return open;
}

int printRefusal(const moert_api &api, const moert_error &error) {
  constexpr char kOptions[] = "options.";
  constexpr size_t kSkipped = sizeof(kOptions) - 1;
  char text[sizeof(error.message)] = {};
  char *end = text;
  bool namesOptions = strncmp(error.message, kOptions, kSkipped) == 0, inName = false;
  for (const char *at = error.message; *at; ++at) {
    if (namesOptions && strncmp(at, kOptions, kSkipped) == 0) {
      *end++ = '-';
      *end++ = '-';
      at += kSkipped;
      inName = true;
    }
    inName = inName && *at != ' ';
    *end++ = inName && *at == '_' ? '-' : *at;
    if (!*at)
      break;
  }
  printError("%s", text[0] ? text : api.status_name(error.status));
  return error.status == MOERT_STATUS_INVALID_ARGUMENT ? kExitUsage : kExitFault;
}

bool findPack(const Options &options, Array<char> &path) {
  if (options.packPath) {
    struct stat status;
    if (stat(options.packPath, &status) != 0)
      return printError("cannot open the pack %s: %s", options.packPath, strerror(errno));
    if (!S_ISREG(status.st_mode))
      return printError("the pack %s is %s; give the .moepack file itself", options.packPath,
                        S_ISDIR(status.st_mode) ? "a folder" : "no regular file");
    return path.append(options.packPath, strlen(options.packPath) + 1) || printError("out of memory");
  }
  const char *library = options.libraryPath;
  const char *slash = strrchr(library, '/');
  const char *stem = slash ? slash + 1 : library;
  size_t stemLength = strlen(stem);
  if (stemLength > 3 && strcmp(stem + stemLength - 3, ".so") == 0)
    stemLength -= 3;
  size_t folderLength = static_cast<size_t>(stem - library);
  // OUT.moepack for OUT.so, NAME.moepack for libNAME.so, and what a compile for several targets writes for
  // OUT.TARGET.so: OUT.moepack, or one pack for each layout family. TARGET may contain dots itself.
  bool isPrefixed = stemLength > 3 && strncmp(stem, "lib", 3) == 0;
  auto isThere = [&](const char *name, size_t length, const char *suffix) {
    return joinPack(path, library, folderLength, name, length, suffix) && fileExists(path.data());
  };
  if (isThere(stem, stemLength, ".moepack") || (isPrefixed && isThere(stem + 3, stemLength - 3, ".moepack")))
    return true;
  const char *ofFamily = kOwnMachine == EM_AARCH64 ? ".arm64.moepack" : ".x86.moepack";
  for (size_t length = stemLength; length-- > 1;)
    if (stem[length] == '.' && (isThere(stem, length, ".moepack") || isThere(stem, length, ofFamily)))
      return true;
  if (!joinPack(path, library, folderLength, stem, stemLength, ".moepack"))
    return printError("out of memory");
  return printError("found no pack for %s: looked for %s; give it by --pack FILE", library, path.data());
}

} // namespace moerun
