// SPDX-License-Identifier: Apache-2.0
/// \file
/// The operating system as the runtime sees it. File calls are raw system calls that answer `-errno`, since `errno`
/// itself has different symbols in glibc and bionic. Everything else is in both C libraries (bionic API 28).
#ifndef RUNTIME_BASE_PLATFORM_H
#define RUNTIME_BASE_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

namespace moert {

/// Largest page of the kernels that we run on (Android since 15 may use 16 KiB). All memory is taken in this unit, so
/// that the plan does not depend on the kernel.
inline constexpr uint64_t kPageBytes = 16384;

/// Errno values that are told apart; the same on every Linux architecture that we build for.
inline constexpr int kErrnoInterrupted = 4;
inline constexpr int kErrnoAgain = 11;
inline constexpr int kErrnoNoSeek = 29; /// of pipes; here of everything that is no regular file

/// Opens for reading; does not wait for the other end of a pipe. Negative errno on failure.
int openFile(const char *path, bool direct);
void closeFile(int fd);
/// Bytes of a regular file, -kErrnoNoSeek for anything else, or negative errno.
int64_t fileBytes(int fd);
/// Whether both are descriptors of one file.
bool isSameFile(int fd, int other);
/// One read call, may be short; negative errno on failure.
int64_t readOnce(int fd, void *destination, uint64_t sizeBytes, uint64_t offset);
/// Tells the kernel that the range will not be read again soon.
void dropCached(int fd, uint64_t offset, uint64_t sizeBytes);
/// Tells the kernel to read what is asked for and nothing behind it.
void stopReadAhead(int fd);
/// `no such file or directory` and the like for the few values that occur; `error N` otherwise.
const char *errnoText(int errnoValue);

/// Unit of huge pages on x86-64 and on arm64 with pages of 4 KiB.
inline constexpr uint64_t kHugePageBytes = 2ull << 20;

/// Address space without memory, at a multiple of kHugePageBytes behind `headBytes`; null on failure.
void *reserveRange(uint64_t headBytes, uint64_t sizeBytes);
/// Makes a page range of a reserved range usable. False if refused.
bool commitRange(void *address, uint64_t sizeBytes);
/// Gives memory of a committed range back; the range stays reserved. False if refused.
bool decommitRange(void *address, uint64_t sizeBytes);
/// Keeps a range that becomes resident bit by bit from being rounded up to huge pages.
void forbidHugePages(void *address, uint64_t sizeBytes);
/// Asks for huge pages where the range holds whole ones. A kernel without them goes on with small ones.
void preferHugePages(void *address, uint64_t sizeBytes);
void releaseRange(void *address, uint64_t sizeBytes);
/// Touches every page, so that the memory is resident now.
void populateRange(void *address, uint64_t sizeBytes);
/// The same for memory that others may be writing to: what it holds stays. False if the system does not offer that
/// (Linux before 5.14) or has no memory; whoever writes to the range first then makes it resident.
bool prepareRange(const void *address, uint64_t sizeBytes);
/// Keeps a range from being swapped out. False if the system refuses.
bool lockRange(void *address, uint64_t sizeBytes);
void unlockRange(void *address, uint64_t sizeBytes);
/// Bytes that this process may lock without a privilege: RLIMIT_MEMLOCK, UINT64_MAX = no limit.
uint64_t lockLimitBytes();

void futexWait(const uint32_t *address, uint32_t expected);
/// At least that long, unless the thread is interrupted.
void sleepFor(uint64_t timeNs);
void futexWake(const uint32_t *address, int count);
/// Lets other threads of this core run first.
void yieldThread();
/// How often the calling thread was taken from its core although it could run.
uint64_t involuntarySwitches();
uint64_t monotonicNs();
/// Pages that the object which holds this code occupies when mapped, from its own program headers.
uint64_t ownMappedBytes();

using ThreadMain = void *(*)(void *);
/// An opaque thread handle; zero is "none".
struct Thread {
  unsigned long handle;
};
/// Starts a thread on the given stack. 0 or an errno value.
int startThread(Thread &thread, void *stack, uint64_t stackBytes, ThreadMain main, void *argument);
void joinThread(Thread &thread);

inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

} // namespace moert
#endif
