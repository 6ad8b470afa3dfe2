// SPDX-License-Identifier: Apache-2.0
/// \file
/// cpuid on x86-64, hardware capabilities of the kernel on aarch64.
#include "runtime/api/Features.h"

#include "runtime/base/Status.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace moert {

#if defined(__x86_64__)
uint32_t cpuFeatures() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return 0;
  constexpr unsigned kFma = 1u << 12, kXsave = 1u << 27, kF16c = 1u << 29;
  unsigned first = c;
  if (!(first & kXsave))
    return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  bool ymm = (low & 0x6) == 0x6, zmm = (low & 0xe6) == 0xe6;
  unsigned seventh = 0, seventhC = 0, seventhOneA = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    unsigned lastSubleaf = a;
    seventh = b;
    seventhC = c;
    if (lastSubleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
      seventhOneA = a;
  }
  constexpr unsigned kAvx2 = 1u << 5, kVnni = 1u << 11, kAvxVnni = 1u << 4;
  constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; // F, DQ, BW, VL
  uint32_t features = 0;
  if (ymm) {
    features |= seventh & kAvx2 ? MOERT_FEATURE_X86_AVX2 : 0;
    features |= first & kFma ? MOERT_FEATURE_X86_FMA : 0;
    features |= first & kF16c ? MOERT_FEATURE_X86_F16C : 0;
    features |= seventhOneA & kAvxVnni ? MOERT_FEATURE_X86_AVX_VNNI : 0;
  }
  if (zmm && (seventh & kAvx512) == kAvx512) {
    features |= MOERT_FEATURE_X86_AVX512;
    features |= seventhC & kVnni ? MOERT_FEATURE_X86_AVX512_VNNI : 0;
  }
  return features;
}
#elif defined(__aarch64__)
uint32_t cpuFeatures() {
  constexpr unsigned long kCapabilities = 16, kCapabilities2 = 26; // AT_HWCAP, AT_HWCAP2
  constexpr unsigned long kHalf = 1ul << 9 | 1ul << 10, kDotProduct = 1ul << 20, kI8mm = 1ul << 13;
  unsigned long first = getauxval(kCapabilities), second = getauxval(kCapabilities2);
  uint32_t features = 0;
  features |= first & kDotProduct ? MOERT_FEATURE_ARM_DOTPROD : 0;
  features |= (first & kHalf) == kHalf ? MOERT_FEATURE_ARM_FP16 : 0;
  features |= second & kI8mm ? MOERT_FEATURE_ARM_I8MM : 0;
  return features;
}
#endif

const char *featureName(uint32_t bit) {
  switch (bit) {
  case MOERT_FEATURE_ARM_DOTPROD:
    return "dotprod";
  case MOERT_FEATURE_ARM_I8MM:
    return "i8mm";
  case MOERT_FEATURE_ARM_FP16:
    return "fp16";
  case MOERT_FEATURE_X86_AVX2:
    return "avx2";
  case MOERT_FEATURE_X86_FMA:
    return "fma";
  case MOERT_FEATURE_X86_F16C:
    return "f16c";
  case MOERT_FEATURE_X86_AVX512:
    return "avx512 (f, bw, dq, vl)";
  case MOERT_FEATURE_X86_AVX512_VNNI:
    return "avx512-vnni";
  case MOERT_FEATURE_X86_AVX_VNNI:
    return "avx-vnni";
  }
  return "unknown";
}

moert_status checkFeatures(const moert_model_descriptor &descriptor, uint32_t available, moert_error *error) {
  uint32_t missing = descriptor.features_required & ~available;
  if (!missing)
    return MOERT_STATUS_OK;
  return fail(error, MOERT_STATUS_UNSUPPORTED,
              "this CPU lacks the feature '%s' that target '%s' needs; compile the model for a target without it",
              featureName(missing & -missing), descriptor.target_name ? descriptor.target_name : "?");
}

} // namespace moert
