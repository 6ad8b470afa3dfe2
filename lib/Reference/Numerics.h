// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scalar functions and reductions of the numerics contract as plain loops. Compiled code gives the same bits.
/// Main source: docs/architecture.md ("Numerics").
#ifndef LIB_REFERENCE_NUMERICS_H
#define LIB_REFERENCE_NUMERICS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace moec {

/// e^x by the contract's own expansion (rule N3): below -87.33654 it is 0, above 88.37626 it stays what it is there.
/// Relative error at most 2 units in the last place.
float expandedExp(float x);

/// x / (1 + exp(-x)).
float silu(float x);

/// 1 / (1 + exp(-x)).
float sigmoid(float x);

/// log(1 + e^x) = max(x, 0) + log(1 + u), u = exp(-|x|); with s = u / (u + 2), log(1 + u) is the series 2 (s + s³/3 + …
/// + s¹⁵/15). Relative error at most 3e-7.
float softplus(float x);

/// Adds 16 partial sums as a tree: 8, 4, 2, 1 (rule N2).
float treeSum(float (&partials)[16]);

/// 1 / sqrt(Σ x² + eps), summed as in normFactor.
float lengthFactor(llvm::ArrayRef<float> x, float eps);

/// 1 / sqrt(mean(x²) + eps); element i goes into partial i mod 16 by fma.
float normFactor(llvm::ArrayRef<float> x, float eps);

/// out[i] = (x[i] * s) * w[i], or * (w[i] + 1) with `unitOffset`, where s is normFactor of x. `out` may be `x`.
void rmsNorm(llvm::ArrayRef<float> x, llvm::ArrayRef<float> w, float eps, bool unitOffset,
             llvm::MutableArrayRef<float> out);

/// int8 codes of one group: scale = max|x| / 127, code = roundeven(x * (127 / max|x|)); all zero if max|x| < 1e-30.
/// Returns the scale. A NaN becomes -127.
float quantizeGroup(llvm::ArrayRef<float> x, llvm::MutableArrayRef<int8_t> codes);

/// Codes of one group of an int4 KV cache: scale = f16(max|x| / 7), at most 65504, code = roundeven(x * (1 / scale))
/// cut to -7 .. 7; all zero if the scale is. Returns the scale. A NaN becomes -7.
float quantizeNibbles(llvm::ArrayRef<float> x, llvm::MutableArrayRef<int8_t> codes);

/// Transforms each run of `block` values (a power of two) in place by the normalized Hadamard matrix: butterflies (a +
/// b, a - b) at distances 1, 2, 4, …, then one product. Source: Ashkboos et al., "QuaRot: Outlier-Free 4-Bit Inference
/// in Rotated LLMs", arXiv:2404.00456.
void hadamard(llvm::MutableArrayRef<float> x, int64_t block);

/// Cosines and sines of one position for frequencies of lib/Plan/RopeTable.h.
struct Rotation {
  std::vector<float> cosines;
  std::vector<float> sines;
};
Rotation rotationAt(int64_t position, llvm::ArrayRef<double> frequencies);

/// Rotates the first 2 * cosines.size() values of a head in place: pairs (i, i + half), or (2i, 2i + 1).
void rotate(llvm::MutableArrayRef<float> head, const Rotation &rotation, bool interleaved);

} // namespace moec

#endif
