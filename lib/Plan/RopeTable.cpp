// SPDX-License-Identifier: Apache-2.0
/// \file
/// Frequencies and angles of a rotary embedding, in double precision.
#include "lib/Plan/RopeTable.h"

#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <numbers>

namespace moec {

static double stretch(double frequency, const RopeScaling &scaling) {
  switch (scaling.kind) {
  case RopeScaling::Kind::none:
    return frequency;
  case RopeScaling::Kind::linear:
    return frequency / scaling.factor;
  case RopeScaling::Kind::llama3: {
    double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < scaling.original / scaling.high)
      return frequency;
    if (wavelength > scaling.original / scaling.low)
      return frequency / scaling.factor;
    double share = (scaling.original / wavelength - scaling.low) / (scaling.high - scaling.low);
    return (1 - share) * frequency / scaling.factor + share * frequency;
  }
  }
  llvm_unreachable("a switch over all kinds");
}

std::vector<double> ropeFrequencies(int64_t dim, double theta, const RopeScaling &scaling) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i)
    frequencies.push_back(stretch(std::pow(theta, -2.0 * double(i) / double(dim)), scaling));
  return frequencies;
}

void ropeRow(int64_t position, llvm::ArrayRef<double> frequencies, bool isSine, llvm::MutableArrayRef<float> out) {
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double angle = double(position) * frequencies[i];
    out[i] = static_cast<float>(isSine ? std::sin(angle) : std::cos(angle));
  }
}

} // namespace moec
