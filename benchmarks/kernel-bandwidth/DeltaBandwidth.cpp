// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of a Gated DeltaNet layer between its projections, one thread: one token with states from DRAM against a pure
/// loop that reads and writes the same bytes, and many tokens. Usage: delta-bandwidth [avx2|avxvnni|avx512vnni]. Main
/// source: docs/benchmarks.md.
#include "benchmarks/kernel-bandwidth/Measure.h"
#include "passes/lower/kernels/DeltaKernels.h"

using namespace moec;

namespace {

using I = int64_t;
constexpr int64_t kKeyHeads = 16, kValueHeads = 32, kDim = 128, kLength = 4, kLayers = 128, kTokens = 64;
constexpr int64_t kKeys = kKeyHeads * kDim, kValues = kValueHeads * kDim, kState = kValueHeads * kDim * kDim;

DeltaSpec specOf(int64_t tokens) {
  return {tokens, kKeyHeads, kValueHeads, kDim, kDim, kValueHeads, kValueHeads, kLength, 1e-6f, 0.088388f};
}

/// Multiplies all values in vectors of 64 bytes.
void scaleAll(float *values, size_t count) {
  using Vector = float __attribute__((vector_size(64)));
  for (size_t at = 0; at + 64 <= count; at += 64)
    for (int i = 0; i < 4; ++i) {
      Vector value;
      std::memcpy(&value, values + at + i * 16, 64);
      value *= 0.9999f;
      std::memcpy(values + at + i * 16, &value, 64);
    }
}

struct Layer {
  std::vector<float> q, k, v, z, a, b, keyConv, valueConv, log, bias, norm, keyState, valueState;
  explicit Layer(int64_t n)
      : q(n * kKeys, 0.1f), k(n * kKeys, 0.2f), v(n * kValues, 0.3f), z(n * kValues, 1.0f), a(n * kValueHeads, -3.0f),
        b(n * kValueHeads, 0.5f), keyConv(kKeys * kLength, 0.3f), valueConv(kValues * kLength, 0.3f),
        log(kValueHeads, 0.1f), bias(kValueHeads, 0.1f), norm(kDim, 1.0f), keyState(kKeys * 3),
        valueState(kValues * 3) {}
};

} // namespace

int main(int argc, char **argv) {
  Isa isa = isaOf(argc, argv);
  DeltaSpec one = specOf(1), many = specOf(kTokens);
  auto *step = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                                         void *, void *, void *, void *, void *, void *, void *, I, I, I, I)>(
      loadKernel(
          isa, [&](KernelContext &context, mlir::ModuleOp module) { buildDeltaStep(context, module, "kernel", one); }));
  auto *rule =
      reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, I, I, I, I)>(
          loadKernel(isa, [&](KernelContext &context, mlir::ModuleOp module) {
            buildDeltaRule(context, module, "kernel", many);
          }));
  size_t bytes = kLayers * kState * sizeof(float);
  auto *states = static_cast<float *>(std::aligned_alloc(4096, bytes));
  for (int64_t i = 0; i < kLayers * kState; ++i)
    states[i] = 1e-3f;
  Layer l(kTokens);
  std::vector<double> seconds = secondsOf(
      {[&] { scaleAll(states, kLayers * kState); },
       [&] {
         for (int64_t layer = 0; layer < kLayers; ++layer)
           step(l.q.data(), l.k.data(), l.v.data(), l.z.data(), l.a.data(), l.b.data(), l.keyConv.data(),
                l.keyConv.data(), l.valueConv.data(), l.log.data(), l.bias.data(), l.norm.data(), l.v.data(),
                l.keyState.data(), l.keyState.data(), l.valueState.data(), states + layer * kState, 1, 0, 0, kKeyHeads);
       },
       [&] {
         rule(l.q.data(), l.k.data(), l.v.data(), l.a.data(), l.b.data(), l.log.data(), l.bias.data(), l.v.data(),
              states, kTokens, 0, 0, kValueHeads * numDeltaStrips(many, isa));
       }});
  // States are read and written.
  printRow("delta_step", isa, 1, 2 * bytes / seconds[1] * 1e-9, "GB/s", 2 * bytes / seconds[0] * 1e-9, bytes);
  printRow("delta_rule", isa, kTokens, 7.0 * kState * kTokens / seconds[2] * 1e-9, "Gflop/s", 0,
           kState * sizeof(float));
  std::free(states);
  return 0;
}
