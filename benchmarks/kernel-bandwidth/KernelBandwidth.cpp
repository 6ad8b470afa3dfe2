// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of one-token products from DRAM against a pure read loop over the same bytes, one thread. Usage:
/// kernel-bandwidth [avx2|avx512vnni]. Main source: docs/benchmarks.md.
#include "benchmarks/kernel-bandwidth/Measure.h"
#include "passes/lower/kernels/Linear.h"

#include "llvm/Support/FormatVariadic.h"

#include <sys/mman.h>
#include <vector>

using namespace moec;

constexpr size_t kHugePageBytes = 2 << 20;

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

int main(int argc, char **argv) {
  Isa isa = isaOf(argc, argv);
  for (Encoding encoding :
       {Encoding::f32(), Encoding::f16(), Encoding::i4(32), Encoding::i4(128), Encoding::i4m(32), Encoding::i4m(128),
        Encoding::i6(32), Encoding::i6(128), Encoding::i8(32), Encoding::i8(128), Encoding::i8m(32)}) {
    LinearSpec spec{{131072, 2048, encoding, 0}, 1, 32, false};
    const int64_t group = encoding.isInteger() ? encoding.group : 32;
    using I = int64_t;
    void *kernel = loadKernel(
        isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); });
    size_t size = (size_t)spec.matrix.layout(LayoutFamily::X86).totalBytes();
    size_t rounded = (size + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    auto *weights = static_cast<uint8_t *>(std::aligned_alloc(kHugePageBytes, rounded));
    // As the runtime does; the read loop gains as much.
    madvise(weights, rounded, MADV_HUGEPAGE);
    std::memset(weights, 0x11, size);
    std::vector<int8_t> codes(2048, 3);
    std::vector<float> floats(2048, 0.5f), scales(2048 / group, 1.0f), y(131072);
    std::vector<int32_t> sums(2048 / group, 3 * group);
    volatile uint64_t sink = 0;
    double read = secondsOf([&] { sink = sink + readAll(weights, size); });
    double product = secondsOf([&] {
      if (encoding.isInteger())
        reinterpret_cast<void (*)(void *, void *, void *, void *, void *, I, I, I, I)>(kernel)(
            weights, codes.data(), scales.data(), sums.data(), y.data(), 1, 0, 0, spec.numTiles());
      else
        reinterpret_cast<void (*)(void *, void *, void *, I, I, I, I)>(kernel)(weights, floats.data(), y.data(), 1, 0,
                                                                               0, spec.numTiles());
    });
    llvm::outs() << llvm::formatv("{0}: {1:f1} GB/s, read loop {2:f1} GB/s, ratio {3:f2}\n", nameOf(encoding),
                                  size / product * 1e-9, size / read * 1e-9, read / product);
    llvm::outs().flush();
    std::free(weights);
  }
  return 0;
}
