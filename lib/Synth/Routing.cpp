// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shares of a Zipf distribution, and the scores that reach them.
#include "lib/Synth/Routing.h"

#include <algorithm>
#include <cmath>

namespace moec {

namespace {

constexpr llvm::StringLiteral kPrefix = "zipf:";
/// Halvings of an interval: more than a double has bits.
constexpr int kHalvings = 80;

/// The x in [low, high] where the rising function `isBelow` changes from true to false.
template <typename IsBelow> double search(double low, double high, IsBelow isBelow) {
  for (int i = 0; i < kHalvings; ++i) {
    double middle = (low + high) / 2;
    (isBelow(middle) ? low : high) = middle;
  }
  return low;
}

/// The chance that a normal deviate exceeds x.
double tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

} // namespace

std::optional<uint32_t> parseZipf(llvm::StringRef text) {
  if (!text.consume_front(kPrefix))
    return std::nullopt;
  auto [whole, decimals] = text.split('.');
  bool hasPoint = whole.size() != text.size();
  uint32_t units = 0, thousandths = 0;
  if (whole.size() != 1 || whole.getAsInteger(10, units) || decimals.size() > 3 || (hasPoint && decimals.empty()))
    return std::nullopt;
  std::string padded = decimals.str() + std::string(3 - decimals.size(), '0');
  if (!std::all_of(padded.begin(), padded.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
      llvm::StringRef(padded).getAsInteger(10, thousandths))
    return std::nullopt;
  uint32_t value = units * 1000 + thousandths;
  return value <= kLargestZipfThousandths ? std::optional(value) : std::nullopt;
}

std::string zipfText(uint32_t zipfThousandths) {
  std::string decimals = std::to_string(1000 + zipfThousandths % 1000).substr(1);
  decimals.resize(decimals.find_last_not_of('0') + 1);
  return kPrefix.str() + std::to_string(zipfThousandths / 1000) + (decimals.empty() ? "" : "." + decimals);
}

std::vector<double> usedShares(uint64_t numExperts, Routing routing) {
  if (routing.topK >= numExperts)
    return std::vector<double>(numExperts, 1.0);
  std::vector<double> rates(numExperts);
  for (uint64_t rank = 0; rank < numExperts; ++rank)
    rates[rank] = std::pow(double(rank + 1), -double(routing.zipfThousandths) / 1000);
  auto arrived = [&](double time) {
    double sum = 0;
    for (double rate : rates)
      sum -= std::expm1(-rate * time);
    return sum;
  };
  // The rarest expert has arrived with certainty at 40 / rate.
  double time = search(0, 40 / rates.back(), [&](double t) { return arrived(t) < routing.topK; });
  for (double &rate : rates)
    rate = -std::expm1(-rate * time);
  return rates;
}

std::vector<float> scoresByRank(uint64_t numExperts, Routing routing) {
  constexpr double kLargest = 5;
  std::vector<float> scores;
  scores.reserve(numExperts);
  for (double share : usedShares(numExperts, routing)) {
    double exceeded = search(-kLargest, kLargest, [&](double x) { return tail(x) > share; });
    // A coarse grid, so that another C library's last bit changes nothing.
    scores.push_back(static_cast<float>(std::round(-exceeded * 256) / 256));
  }
  return scores;
}

} // namespace moec
