// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of one-token products from DRAM against a pure read loop over the same bytes, and of products of 8 and 64
/// tokens from the caches against a loop of dot products in registers, one thread. Usage: kernel-bandwidth
/// [avx2|avxvnni|avx512vnni]. Main source: docs/benchmarks.md.
#include "benchmarks/kernel-bandwidth/Measure.h"
#include "passes/lower/kernels/Linear.h"

#include <immintrin.h>
#include <sys/mman.h>

using namespace moec;

static constexpr size_t kHugePageBytes = 2 << 20;

/// Sums all bytes in 8 vectors of 64 bytes.
static uint64_t readAll(const uint8_t *bytes, size_t size) {
  using Vector = uint64_t __attribute__((vector_size(64)));
  Vector sums[8] = {};
  for (size_t at = 0; at + 512 <= size; at += 512)
    for (int i = 0; i < 8; ++i) {
      Vector value;
      std::memcpy(&value, bytes + at + i * 64, 64);
      sums[i] += value;
    }
  for (int i = 1; i < 8; ++i)
    sums[0] += sums[i];
  return sums[0][0] + sums[0][7];
}

/// Arguments of a product [rows, 2048] with `tokens` tokens, and its kernel.
class Product {
public:
  Product(Isa isa, Encoding encoding, int64_t rows, int64_t tokens)
      : spec{{rows, kColumns, encoding, 0}, tokens, 32, false}, group(encoding.isInteger() ? encoding.group : 32),
        tokens(tokens), codes(kColumns * tokens, 3), floats(kColumns * tokens, 0.5f),
        scales(kColumns / group * tokens, 1.0f), y(rows * tokens), sums(kColumns / group * tokens, 3 * group) {
    kernel = loadKernel(
        isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); });
    size = static_cast<size_t>(spec.matrix.layout(LayoutFamily::X86).totalBytes());
    size_t rounded = (size + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    weights = static_cast<uint8_t *>(std::aligned_alloc(kHugePageBytes, rounded));
    // As the runtime does; the read loop gains as much.
    madvise(weights, rounded, MADV_HUGEPAGE);
    std::memset(weights, 0x11, size);
  }
  Product(const Product &) = delete;
  ~Product() { std::free(weights); }

  void run() {
    using I = int64_t;
    if (spec.matrix.encoding.isInteger())
      reinterpret_cast<void (*)(void *, void *, void *, void *, void *, I, I, I, I)>(kernel)(
          weights, codes.data(), scales.data(), sums.data(), y.data(), tokens, 0, 0, spec.numTiles());
    else
      reinterpret_cast<void (*)(void *, void *, void *, I, I, I, I)>(kernel)(weights, floats.data(), y.data(), tokens,
                                                                             0, 0, spec.numTiles());
  }

  static constexpr int64_t kColumns = 2048;
  size_t size = 0;
  uint8_t *weights = nullptr;

private:
  LinearSpec spec;
  int64_t group, tokens;
  std::vector<int8_t> codes;
  std::vector<float> floats, scales, y;
  std::vector<int32_t> sums;
  void *kernel = nullptr;
};

#ifdef __AVX512VNNI__
/// Dot products in registers alone: 16 independent sums of 64 multiply-accumulates each.
static int dotAll(int64_t steps) {
  __m512i sums[16] = {}, a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int64_t i = 0; i < steps; ++i) {
    // Keeps the loop from being computed in advance.
    asm volatile("" : "+v"(a), "+v"(b));
    for (__m512i &sum : sums)
      sum = _mm512_dpbusd_epi32(sum, a, b);
  }
  for (int i = 1; i < 16; ++i)
    sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_reduce_add_epi32(sums[0]);
}
#endif

int main(int argc, char **argv) {
  Isa isa = isaOf(argc, argv);
  for (Encoding encoding :
       {Encoding::f32(), Encoding::f16(), Encoding::i4(32), Encoding::i4(128), Encoding::i4m(32), Encoding::i4m(128),
        Encoding::i6(32), Encoding::i6(128), Encoding::i8(32), Encoding::i8(128), Encoding::i8m(32)}) {
    volatile uint64_t sink = 0;
    {
      Product one(isa, encoding, 131072, 1);
      std::vector<double> seconds =
          secondsOf({[&] { sink = sink + readAll(one.weights, one.size); }, [&] { one.run(); }});
      printRow("linear " + nameOf(encoding), isa, 1, one.size / seconds[1] * 1e-9, "GB/s", one.size / seconds[0] * 1e-9,
               one.size);
    }
    for (int64_t tokens : {8, 64}) {
      constexpr int64_t kRows = 768, kDotSteps = 100000;
      Product many(isa, encoding, kRows, tokens);
      double loop = 0;
      std::vector<std::function<void()>> works = {[&] { many.run(); }};
#ifdef __AVX512VNNI__
      if (isa == Isa::Avx512Vnni && encoding.isInteger())
        works.push_back([&] { sink = sink + static_cast<uint64_t>(dotAll(kDotSteps)); });
#endif
      std::vector<double> seconds = secondsOf(works);
      if (seconds.size() > 1)
        loop = 64.0 * 16 * kDotSteps / seconds[1] * 1e-9;
      printRow("linear " + nameOf(encoding), isa, tokens,
               static_cast<double>(kRows * Product::kColumns * tokens) / seconds[0] * 1e-9, "GMAC/s", loop, many.size);
    }
  }
  return 0;
}
