// SPDX-License-Identifier: Apache-2.0
/// \file
/// Multiply-accumulates per second of many-token products whose weights are in the caches, one thread, against a loop
/// of nothing but the dot product instruction. Usage: kernel-throughput [avx2|avxvnni|avx512vnni]. Main source:
/// docs/benchmarks.md.
#include "benchmarks/kernel-bandwidth/Measure.h"
#include "passes/lower/kernels/Linear.h"

#include "llvm/Support/FormatVariadic.h"

#include <immintrin.h>
#include <vector>

using namespace moec;

namespace {

using I = int64_t;
constexpr int64_t kColumns = 2048, kRows = 768, kMost = 512;

/// Best of nine: the limit is the processor, which other programs only slow down.
double bestSecondsOf(llvm::function_ref<void()> work) {
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// Multiply-accumulates per second of 12 chains of vpdpbusd in registers. The compiler sees neither operand.
template <class Vector, class Step> double peakOf(Vector zero, Step step) {
  constexpr int64_t kSteps = 1 << 20, kChains = 12;
  double seconds = bestSecondsOf([&] {
    Vector sums[kChains];
    for (Vector &sum : sums)
      sum = zero;
    for (int64_t i = 0; i < kSteps; ++i)
      for (Vector &sum : sums) // unrolled: the sums stay in registers
        step(sum);
    for (Vector &sum : sums)
      asm volatile("" : : "x"(sum));
  });
  return (double)(kSteps * kChains * (int64_t)sizeof(Vector)) / seconds;
}

double peakOf(Isa isa) {
  if (isa == Isa::Avx512Vnni)
    return peakOf(_mm512_setzero_si512(), [](__m512i &sum) { asm("vpdpbusd %0, %0, %0" : "+v"(sum)); });
  if (isa == Isa::AvxVnni)
    return peakOf(_mm256_setzero_si256(), [](__m256i &sum) { asm("%{vex%} vpdpbusd %0, %0, %0" : "+x"(sum)); });
  // One of the two instructions that AVX2 needs for 32 products.
  return peakOf(_mm256_setzero_si256(), [](__m256i &sum) { asm("vpmaddubsw %0, %0, %0" : "+x"(sum)); });
}

struct Rows {
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  Rows(int64_t count, int64_t columns, int64_t group)
      : codes(count * columns, 3), scales(count * columns / group, 1.0f), sums(count * columns / group, 3 * group) {}
};

std::vector<uint8_t> weightsOf(int64_t bytes) { return std::vector<uint8_t>((size_t)bytes, 0x11); }

void measureLinear(Isa isa, const Encoding &encoding, double peak) {
  LinearSpec spec{{kRows, kColumns, encoding, 0}, kMost, 32, false};
  auto *kernel = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, I, I, I, I)>(loadKernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); }));
  std::vector<uint8_t> weights = weightsOf(spec.matrix.layout(LayoutFamily::X86).totalBytes());
  Rows x(kMost, kColumns, encoding.group);
  std::vector<float> y(kMost * kRows);
  llvm::outs() << llvm::formatv("linear {0,-8}", nameOf(encoding));
  for (int64_t n : {1, 2, 3, 4, 5, 8, 9, 12, 16, 32, 512}) {
    double seconds = bestSecondsOf([&] {
      kernel(weights.data(), x.codes.data(), x.scales.data(), x.sums.data(), y.data(), n, 0, 0, spec.numTiles());
    });
    double rate = (double)(n * kRows * kColumns) / seconds;
    llvm::outs() << llvm::formatv(" {0}: {1:f0} ({2:f2})", n, rate * 1e-9, rate / peak);
  }
  llvm::outs() << "\n";
  llvm::outs().flush();
}

/// Gate and up with silu and quantization, then down, for pairs of the tokens 0, 1, ...
void measureExperts(Isa isa, const Encoding &encoding, double peak) {
  ExpertsSpec spec;
  spec.gate = spec.up = {kRows, kColumns, encoding, 0};
  spec.up.offsetBytes = spec.gate.layout(LayoutFamily::X86).totalBytes();
  spec.down = {kColumns, kRows, encoding, 2 * spec.up.offsetBytes};
  spec.recordBytes = spec.down.offsetBytes + spec.down.layout(LayoutFamily::X86).totalBytes();
  spec.topK = 8;
  spec.maxTokens = kMost;
  auto *gateUp = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *, void *, void *, I, I, I)>(
      loadKernel(isa, [&](KernelContext &context, mlir::ModuleOp module) {
        buildExpertsGateUp(context, module, "kernel", spec);
      }));
  auto *down = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *, I, I, I)>(loadKernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildExpertsDown(context, module, "kernel", spec); }));
  std::vector<uint8_t> record = weightsOf(spec.recordBytes);
  std::vector<int32_t> pairs;
  for (int32_t token = 0; token < kMost; ++token)
    pairs.push_back(token * 8 + token % 8);
  Rows x(kMost, kColumns, encoding.group), h(spec.maxPairs(), kRows, encoding.group);
  std::vector<float> y(spec.maxPairs() * kColumns);
  llvm::outs() << llvm::formatv("expert {0,-8}", nameOf(encoding));
  for (int64_t m : {1, 2, 4, 8, 12, 16, 32, 64}) {
    double first = bestSecondsOf([&] {
      gateUp(record.data(), pairs.data(), x.codes.data(), x.scales.data(), x.sums.data(), h.codes.data(),
             h.scales.data(), h.sums.data(), m, 0, spec.numGateUpTiles());
    });
    double second = bestSecondsOf([&] {
      down(record.data(), pairs.data(), h.codes.data(), h.scales.data(), h.sums.data(), y.data(), m, 0,
           spec.numDownTiles());
    });
    double weights = (double)(m * kRows * kColumns);
    llvm::outs() << llvm::formatv(" {0}: {1:f0} + {2:f0} ({3:f2})", m, 2 * weights / first * 1e-9,
                                  weights / second * 1e-9, 3 * weights / (first + second) / peak);
  }
  llvm::outs() << "\n";
  llvm::outs().flush();
}

} // namespace

int main(int argc, char **argv) {
  Isa isa = isaOf(argc, argv);
  double peak = peakOf(isa);
  llvm::outs() << llvm::formatv("dot product instructions alone: {0:f0} GMAC/s\n"
                                "tokens: GMAC/s (share); of experts gate|up + down\n",
                                peak * 1e-9);
  for (Encoding encoding :
       {Encoding::i4(32), Encoding::i4(128), Encoding::i4m(32), Encoding::i6(64), Encoding::i8(32), Encoding::i8(128)})
    measureLinear(isa, encoding, peak);
  for (Encoding encoding : {Encoding::i4(32), Encoding::i4(128), Encoding::i8(128)})
    measureExperts(isa, encoding, peak);
  return 0;
}
