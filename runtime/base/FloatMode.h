// SPDX-License-Identifier: Apache-2.0
/// \file
/// The floating-point mode of generated code: round to nearest even, denormals kept, no traps. An app may run with
/// another mode (flush to zero is common in audio and games); results must not depend on it (numerics contract, N3).
#ifndef RUNTIME_BASE_FLOATMODE_H
#define RUNTIME_BASE_FLOATMODE_H

#include <stdint.h>

namespace moert {

/// Sets the mode in its scope and restores the caller's.
class FloatMode {
public:
#if defined(__x86_64__)
  FloatMode() {
    asm volatile("stmxcsr %0" : "=m"(saved));
    constexpr uint32_t kDefault = 0x1f80; // all exceptions masked, nearest even
    asm volatile("ldmxcsr %0" : : "m"(kDefault));
  }
  ~FloatMode() { asm volatile("ldmxcsr %0" : : "m"(saved)); }

private:
  uint32_t saved;
#elif defined(__aarch64__)
  FloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved));
    asm volatile("msr fpcr, %0" : : "r"(static_cast<uint64_t>(0)));
  }
  ~FloatMode() { asm volatile("msr fpcr, %0" : : "r"(saved)); }

private:
  uint64_t saved;
#endif

public:
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;
};

} // namespace moert
#endif
