// SPDX-License-Identifier: Apache-2.0
/// \file
/// Angles of a rotary embedding: the one place that makes cosines and sines, for the pack's tables and for the
/// interpreter. Part of the plan step. Main source: `#moe.rope_scaling` in dialects/moe/MoeAttributes.td.
#ifndef LIB_PLAN_ROPETABLE_H
#define LIB_PLAN_ROPETABLE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace moec {

/// How frequencies are stretched; the meaning is that of `#moe.rope_scaling`.
struct RopeScaling {
  enum class Kind { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1;        // positive
  double low = 0, high = 0; // llama3: 0 < low < high
  double original = 0;      // llama3: positions of the training
};

/// Frequencies theta^(-2i / dim) of the pairs i < dim / 2, stretched.
std::vector<double> ropeFrequencies(int64_t dim, double theta, const RopeScaling &scaling = {});

/// out[i] = cosine or sine of position * frequencies[i], computed in double, rounded once to f32.
void ropeRow(int64_t position, llvm::ArrayRef<double> frequencies, bool isSine, llvm::MutableArrayRef<float> out);

} // namespace moec

#endif
