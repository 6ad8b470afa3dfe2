// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the cases share: reproducible inputs, calls by bare pointers, comparison of bytes, and a digest of every output
/// that is printed, so that runs on different ISAs can be compared. Main source: this folder's RunCases.cpp.
#ifndef TEST_UNIT_FLOATKERNELS_RUNNER_H
#define TEST_UNIT_FLOATKERNELS_RUNNER_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

/// xorshift64*; values in [-scale, scale).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1Dull;
  }
  float value(float scale = 1.0f) { return ((float)(next() >> 40) / 8388608.0f - 1.0f) * scale; }
  std::vector<float> values(int64_t count, float scale = 1.0f) {
    std::vector<float> result((size_t)count);
    for (float &x : result)
      x = value(scale);
    return result;
  }

private:
  uint64_t state;
};

using KernelFunction = void (*)();

template <class... Pointers>
void call(KernelFunction kernel, int64_t n, int64_t position, int64_t begin, int64_t end, Pointers *...pointers) {
  using Typed = void (*)(Pointers *..., int64_t, int64_t, int64_t, int64_t);
  reinterpret_cast<Typed>(kernel)(pointers..., n, position, begin, end);
}

/// One case: remembers whether all comparisons held and digests what was computed.
class Runner {
public:
  explicit Runner(const char *name) : name(name) {}
  ~Runner() { std::printf("%s %016llx\n", name, (unsigned long long)digest); }

  template <class T> void expectSame(const char *what, const std::vector<T> &got, const std::vector<T> &expected) {
    for (size_t i = 0; i < got.size() * sizeof(T); ++i)
      digest = (digest ^ ((const uint8_t *)got.data())[i]) * 0x100000001B3ull;
    if (got.size() == expected.size() && std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)) == 0)
      return;
    ++numFailures;
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0)
        continue;
      std::fprintf(stderr, "%s: %s[%zu] is %.9g, expected %.9g\n", name, what, i, (double)got[i], (double)expected[i]);
      return;
    }
  }

  void expectNear(const char *what, double got, double expected, double tolerance) {
    if (std::fabs(got - expected) <= tolerance)
      return;
    ++numFailures;
    std::fprintf(stderr, "%s: %s is %.9g, expected %.9g within %g\n", name, what, got, expected, tolerance);
  }

  static inline int numFailures = 0;

private:
  const char *name;
  uint64_t digest = 0xCBF29CE484222325ull;
};

void runRowCases();
void runGateCases();
void runRouterCases();
void runRopeCases();
void runAttentionCases();
void runDeltaCases();

#endif
