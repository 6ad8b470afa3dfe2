// SPDX-License-Identifier: Apache-2.0
/// \file
/// Linux and Android.
#include "runtime/base/Platform.h"

#include "runtime/base/Checked.h"
#include "runtime/base/SystemCall.h"

#include <elf.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

// Defined by the linker: the ELF header of the object that this code is linked into.
extern "C" __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;

namespace moert {

//===--- files ----------------------------------------------------------------------------------------------------===//

static long pointerArgument(const void *pointer) { return reinterpret_cast<long>(pointer); }

int openFile(const char *path, bool direct) {
  constexpr int kReadOnly = 0, kCloseOnExec = 02000000, kNonBlocking = 04000, kCurrentFolder = -100;
  int flags = kReadOnly | kCloseOnExec | kNonBlocking | (direct ? kOpenDirect : 0);
  long result;
  do
    result = systemCall(kSysOpenAt, kCurrentFolder, pointerArgument(path), flags, 0);
  while (result == -kErrnoInterrupted);
  return static_cast<int>(result);
}

void closeFile(int fd) {
  if (fd >= 0)
    systemCall(kSysClose, fd);
}

int64_t fileBytes(int fd) {
  constexpr uint32_t kTypeMask = 0170000, kRegular = 0100000;
  constexpr unsigned kSizeOffset = 48; // on every Linux architecture that we build for
  uint8_t info[256] = {};              // larger than the kernel's struct
  if (long result = systemCall(kSysFstat, fd, pointerArgument(info)))
    return result;
  uint32_t mode = 0;
  int64_t bytes = 0;
  memcpy(&mode, info + kStatModeOffset, sizeof(mode));
  memcpy(&bytes, info + kSizeOffset, sizeof(bytes));
  return (mode & kTypeMask) == kRegular ? bytes : -kErrnoNoSeek;
}

bool isSameFile(int fd, int other) {
  uint64_t info[32] = {}, otherInfo[32] = {}; // larger than the kernel's struct, which begins with device and inode
  return systemCall(kSysFstat, fd, pointerArgument(info)) == 0 &&
         systemCall(kSysFstat, other, pointerArgument(otherInfo)) == 0 && info[0] == otherInfo[0] &&
         info[1] == otherInfo[1];
}

int64_t readOnce(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
  return systemCall(kSysPread, fd, pointerArgument(destination), static_cast<long>(sizeBytes),
                    static_cast<long>(offset));
}

void dropCached(int fd, uint64_t offset, uint64_t sizeBytes) {
  constexpr int kDontNeed = 4;
  systemCall(kSysFadvise, fd, static_cast<long>(offset), static_cast<long>(sizeBytes), kDontNeed);
}

void stopReadAhead(int fd) {
  constexpr int kRandom = 1;
  systemCall(kSysFadvise, fd, 0, 0, kRandom);
}

const char *errnoText(int errnoValue) {
  switch (errnoValue) {
  case 1:
    return "operation not permitted";
  case 2:
    return "no such file or directory";
  case kErrnoInterrupted:
    return "interrupted again and again";
  case 5:
    return "input/output error";
  case 9:
    return "bad file descriptor";
  case kErrnoAgain:
    return "temporarily unavailable";
  case 12:
    return "out of memory";
  case 13:
    return "permission denied";
  case 20:
    return "a part of the path is not a directory";
  case 21:
    return "is a directory";
  case 22:
    return "invalid argument";
  case 23:
  case 24:
    return "too many open files";
  case kErrnoNoSeek:
    return "not a regular file";
  default:
    return "system error";
  }
}

//===--- memory ---------------------------------------------------------------------------------------------------===//

void *reserveRange(uint64_t headBytes, uint64_t sizeBytes) {
  uint64_t spare = sizeBytes >= kHugePageBytes ? kHugePageBytes : 0;
  void *address = mmap(nullptr, sizeBytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return nullptr;
  if (!spare)
    return address;
  // What stands too much before and behind goes back.
  auto *first = static_cast<uint8_t *>(address);
  uint64_t begin = reinterpret_cast<uint64_t>(first);
  uint64_t skipped = roundUp(begin + headBytes, kHugePageBytes) - headBytes - begin;
  if (skipped)
    munmap(first, skipped);
  if (skipped < spare)
    munmap(first + skipped + sizeBytes, spare - skipped);
  return first + skipped;
}

bool commitRange(void *address, uint64_t sizeBytes) {
  return mprotect(address, sizeBytes, PROT_READ | PROT_WRITE) == 0;
}

bool decommitRange(void *address, uint64_t sizeBytes) {
  return madvise(address, sizeBytes, MADV_DONTNEED) == 0 && mprotect(address, sizeBytes, PROT_NONE) == 0;
}

void forbidHugePages(void *address, uint64_t sizeBytes) {
  constexpr int kNoHugePage = 15;
  madvise(address, sizeBytes, kNoHugePage);
}

void preferHugePages(void *address, uint64_t sizeBytes) {
  constexpr int kHugePage = 14;
  if (sizeBytes >= kHugePageBytes)
    madvise(address, sizeBytes, kHugePage);
}

void releaseRange(void *address, uint64_t sizeBytes) {
  if (address)
    munmap(address, sizeBytes);
}

void populateRange(void *address, uint64_t sizeBytes) {
  constexpr uint64_t kSmallestPage = 4096;
  volatile uint8_t *bytes = static_cast<uint8_t *>(address);
  for (uint64_t offset = 0; offset < sizeBytes; offset += kSmallestPage)
    bytes[offset] = 0;
}

bool prepareRange(const void *address, uint64_t sizeBytes) {
  constexpr int kPopulateForWriting = 23;
  return madvise(const_cast<void *>(address), sizeBytes, kPopulateForWriting) == 0;
}

bool lockRange(void *address, uint64_t sizeBytes) {
  return systemCall(kSysMlock, pointerArgument(address), static_cast<long>(sizeBytes)) == 0;
}

void unlockRange(void *address, uint64_t sizeBytes) {
  systemCall(kSysMunlock, pointerArgument(address), static_cast<long>(sizeBytes));
}

uint64_t lockLimitBytes() {
  constexpr int kLimitMemlock = 8;
  uint64_t limits[2] = {};
  return systemCall(kSysPrlimit, 0, kLimitMemlock, 0, pointerArgument(limits)) == 0 ? limits[0] : 0;
}

//===--- waiting and time -----------------------------------------------------------------------------------------===//

void futexWait(const uint32_t *address, uint32_t expected) {
  constexpr int kWaitPrivate = 128;
  systemCall(kSysFutex, pointerArgument(address), kWaitPrivate, static_cast<long>(expected), 0);
}

void futexWake(const uint32_t *address, int count) {
  constexpr int kWakePrivate = 129;
  systemCall(kSysFutex, pointerArgument(address), kWakePrivate, count);
}

void sleepFor(uint64_t timeNs) {
  constexpr int kWaitPrivate = 128;
  struct {
    int64_t seconds, ns;
  } timeout = {static_cast<int64_t>(timeNs / 1000000000), static_cast<int64_t>(timeNs % 1000000000)};
  uint32_t word = 0;
  systemCall(kSysFutex, pointerArgument(&word), kWaitPrivate, 0, pointerArgument(&timeout));
}

void yieldThread() { systemCall(kSysSchedYield); }

uint64_t involuntarySwitches() {
  constexpr long kOfThread = 1;
  uint64_t usage[32] = {}; // larger than the kernel's struct, whose last of 18 words it is
  systemCall(kSysGetRusage, kOfThread, pointerArgument(usage));
  return usage[17];
}

uint64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ull + static_cast<uint64_t>(now.tv_nsec);
}

//===--- the object and its limits --------------------------------------------------------------------------------===//

uint64_t ownMappedBytes() {
  constexpr uint64_t kMappingUnit = 4096;
  const auto *header = &__ehdr_start;
  const auto *segments =
      reinterpret_cast<const Elf64_Phdr *>(reinterpret_cast<const uint8_t *>(header) + header->e_phoff);
  uint64_t total = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD)
      continue;
    uint64_t begin = segments[i].p_vaddr & ~(kMappingUnit - 1);
    total += roundUp(segments[i].p_vaddr + segments[i].p_memsz, kMappingUnit) - begin;
  }
  return total;
}

//===--- threads --------------------------------------------------------------------------------------------------===//

int startThread(Thread &thread, void *stack, uint64_t stackBytes, ThreadMain main, void *argument) {
  static_assert(sizeof(pthread_t) == sizeof(unsigned long));
  pthread_attr_t attributes;
  if (int status = pthread_attr_init(&attributes))
    return status;
  int status = pthread_attr_setstack(&attributes, stack, stackBytes);
  pthread_t handle = {};
  if (!status)
    status = pthread_create(&handle, &attributes, main, argument);
  pthread_attr_destroy(&attributes);
  if (!status)
    thread.handle = (unsigned long)handle;
  return status;
}

void joinThread(Thread &thread) {
  if (thread.handle)
    pthread_join((pthread_t)thread.handle, nullptr);
  thread.handle = 0;
}

} // namespace moert
