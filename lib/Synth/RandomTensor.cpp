// SPDX-License-Identifier: Apache-2.0
/// \file
/// The generator. Its loops have no branches and no carried values, so that the compiler turns them into vector code.
#include "lib/Synth/RandomTensor.h"

#include "lib/Support/Clones.h"
#include "lib/Support/Half.h"
#include "lib/Support/Hash.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>

namespace moec {

namespace {

constexpr llvm::StringLiteral kKindPrefix = "random:", kZeroCentred = ":zero_centred";
/// 2^64 divided by the golden ratio, made odd: the step of SplitMix64's counter.
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
/// Four bytes have a mean of 510 and a variance of 4 * (2^16 - 1) / 12 = 21845.
constexpr int32_t kMean = 510;
constexpr uint64_t kVariance = 21845;

/// With skewed routing, the first value of every embedding, beside others with a standard deviation of 1.
constexpr float kConstant = 8;
/// So many layers double the mean square of the residual stream, roughly (docs/synthetic-models.md, "Skewed routing").
constexpr double kLayersToDouble = 50;

/// SplitMix64's finalizer.
inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// The largest root with root * root <= square.
uint64_t integerRoot(uint64_t square) {
  uint64_t root = 0;
  for (uint64_t bit = uint64_t(1) << 31; bit; bit >>= 1)
    if ((root + bit) * (root + bit) <= square)
      root += bit;
  return root;
}

/// float32 to bfloat16, to nearest even, back as float32; no NaN comes here.
inline float roundToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);
}

/// Values of a piece while it is converted: small enough for the first-level cache.
constexpr size_t kPieceValues = 2048;

/// Exact values of elements 2 * word and following; `out` has a whole number of pairs.
MOEC_CLONES void fillPairs(uint64_t key, uint64_t word, int32_t center, int32_t factor, float unit, float *out,
                           size_t numPairs) {
  constexpr uint64_t kEvenBytes = 0x00FF00FF00FF00FF, kEvenHalves = 0x0000FFFF0000FFFF;
  for (size_t j = 0; j < numPairs; ++j) {
    uint64_t bits = mix(key + (word + j + 1) * kStep);
    uint64_t twos = (bits & kEvenBytes) + ((bits >> 8) & kEvenBytes);
    uint64_t fours = (twos & kEvenHalves) + ((twos >> 16) & kEvenHalves);
    int32_t low = static_cast<int32_t>(fours & 0xFFFFFFFF) - kMean, high = static_cast<int32_t>(fours >> 32) - kMean;
    out[2 * j] = static_cast<float>(center + factor * low) * unit;
    out[2 * j + 1] = static_cast<float>(center + factor * high) * unit;
  }
}

MOEC_CLONES void roundAllToBf16(float *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = roundToBf16(values[i]);
}

MOEC_CLONES void upperHalves(const float *values, uint8_t *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16);
    out[2 * i] = static_cast<uint8_t>(upper);
    out[2 * i + 1] = static_cast<uint8_t>(upper >> 8);
  }
}

} // namespace

llvm::StringRef nameOf(RandomType type) {
  return type == RandomType::BF16 ? "BF16" : type == RandomType::F16 ? "F16" : "F32";
}

uint64_t bytesOf(RandomType type) { return type == RandomType::F32 ? 4 : 2; }

RandomTensor::RandomTensor(uint64_t seed, llvm::StringRef name, int32_t center, int32_t factor, float unit)
    : key(mix(mix(seed + kStep) ^ hash64(llvm::ArrayRef(name.bytes_begin(), name.size())))), center(center),
      factor(factor), unit(unit) {}

RandomTensor RandomTensor::matrix(uint64_t seed, llvm::StringRef name, uint64_t columns) {
  // factor * unit = 1 / sqrt(variance * columns), with a factor of 9 bits: factor^2 = 4^shift / (variance * columns).
  uint64_t square = kVariance * std::clamp<uint64_t>(columns, 1, uint64_t(1) << 40);
  int shift = 9;
  __extension__ using Wide = unsigned __int128;
  while (integerRoot(static_cast<uint64_t>((Wide(1) << (2 * shift)) / square)) < 256)
    ++shift;
  int32_t factor = static_cast<int32_t>(integerRoot(static_cast<uint64_t>((Wide(1) << (2 * shift)) / square)));
  return RandomTensor(seed, name, 0, factor, std::bit_cast<float>(static_cast<uint32_t>(127 - shift) << 23));
}

RandomTensor RandomTensor::vector(uint64_t seed, llvm::StringRef name) {
  return RandomTensor(seed, name, 8192, 1, 1.0f / 8192);
}

RandomTensor RandomTensor::ofShape(const RandomKind &kind, llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) {
  if (shape.size() != 1)
    return kind.routing.isPlain() ? matrix(kind.seed, name, shape.back()) : skewed(kind, name, shape);
  if (name.ends_with(".A_log"))
    return RandomTensor(kind.seed, name, -16384, 16, 1.0f / 8192);
  // The norm inside DeltaNet is a plain one in every model.
  bool isNorm = name.ends_with("norm.weight") && !name.ends_with(".linear_attn.norm.weight");
  if (name.ends_with(".bias") || (isNorm && kind.isZeroCentred))
    return RandomTensor(kind.seed, name, 0, 1, 1.0f / 8192);
  return vector(kind.seed, name);
}

RandomTensor RandomTensor::skewed(const RandomKind &kind, llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) {
  llvm::StringRef stem = name;
  stem.consume_back(".weight");
  if (stem.ends_with("embed_tokens")) {
    RandomTensor tensor = matrix(kind.seed, name, 1);
    tensor.columns = shape.back();
    tensor.firstColumn = {kConstant};
    return tensor;
  }
  RandomTensor tensor = matrix(kind.seed, name, shape.back());
  if (stem.ends_with(".mlp.gate")) {
    tensor.columns = shape.back();
    tensor.firstColumn = tensor.routerColumn(kind.routing, name, shape.front());
  } else if (stem.ends_with("down_proj")) {
    tensor.unit *= stem.contains("shared_expert") ? 0.25f : 0.5f;
  } else if (stem.ends_with(".o_proj") || stem.ends_with(".out_proj")) {
    tensor.unit *= 0.125f;
  }
  return tensor;
}

std::vector<float> RandomTensor::routerColumn(Routing routing, llvm::StringRef name, uint64_t numExperts) const {
  std::vector<std::pair<uint64_t, uint64_t>> order;
  for (uint64_t expert = 0; expert < numExperts; ++expert)
    order.push_back({mix(mix(~key) + (expert + 1) * kStep), expert});
  std::sort(order.begin(), order.end());
  // Layers add to all columns but the first, so its share falls; the scores rise as much.
  uint64_t layer = 0;
  name.split("layers.").second.consumeInteger(10, layer);
  double growth = std::sqrt(1 + double(std::min<uint64_t>(layer, 1000)) / kLayersToDouble);
  std::vector<float> scores = scoresByRank(numExperts, routing), column(numExperts);
  for (uint64_t rank = 0; rank < numExperts; ++rank)
    column[order[rank].second] = static_cast<float>(std::round(scores[rank] * growth * 256) / 256) / kConstant;
  return column;
}

void RandomTensor::putFirstColumn(uint64_t first, llvm::MutableArrayRef<float> out) const {
  for (uint64_t row = (first + columns - 1) / columns; row * columns < first + out.size(); ++row)
    out[row * columns - first] = firstColumn[row % firstColumn.size()];
}

void RandomTensor::values(RandomType type, uint64_t first, llvm::MutableArrayRef<float> out) const {
  while (!out.empty()) {
    std::array<float, kPieceValues + 2> piece;
    // Whole pairs: one element more at the front and at the end where the range begins or ends inside of one.
    size_t skipped = first % 2, count = std::min(out.size(), kPieceValues);
    bool isWhole = skipped == 0 && count % 2 == 0;
    float *target = isWhole ? out.data() : piece.data();
    fillPairs(key, first / 2, center, factor, unit, target, (skipped + count + 1) / 2);
    if (!isWhole)
      std::copy_n(piece.data() + skipped, count, out.data());
    if (!firstColumn.empty())
      putFirstColumn(first, out.take_front(count));
    if (type == RandomType::BF16)
      roundAllToBf16(out.data(), count);
    else if (type == RandomType::F16)
      for (float &value : out.take_front(count))
        value = f16ToF32(f32ToF16(value));
    first += count;
    out = out.drop_front(count);
  }
}

void RandomTensor::bytes(RandomType type, uint64_t first, llvm::MutableArrayRef<uint8_t> out) const {
  assert(out.size() % bytesOf(type) == 0 && "whole elements");
  std::array<float, kPieceValues> piece;
  while (!out.empty()) {
    size_t count = std::min<size_t>(out.size() / bytesOf(type), kPieceValues);
    values(type, first, llvm::MutableArrayRef(piece).take_front(count));
    if (type == RandomType::BF16)
      upperHalves(piece.data(), out.data(), count);
    for (size_t i = 0; i < count && type == RandomType::F16; ++i)
      llvm::support::endian::write16le(out.data() + 2 * i, f32ToF16(piece[i]));
    for (size_t i = 0; i < count && type == RandomType::F32; ++i)
      llvm::support::endian::write32le(out.data() + 4 * i, std::bit_cast<uint32_t>(piece[i]));
    first += count;
    out = out.drop_front(count * bytesOf(type));
  }
}

std::string randomKind(const RandomKind &kind) {
  std::string text = (kKindPrefix + std::to_string(kind.seed)).str();
  if (kind.isZeroCentred)
    text += kZeroCentred;
  if (!kind.routing.isPlain())
    text += ":" + zipfText(kind.routing.zipfThousandths) + ":" + std::to_string(kind.routing.topK);
  return text;
}

std::optional<RandomKind> parseRandomKind(llvm::StringRef text) {
  RandomKind kind;
  if (!text.consume_front(kKindPrefix) || text.consumeInteger(10, kind.seed))
    return std::nullopt;
  kind.isZeroCentred = text.consume_front(kZeroCentred);
  if (text.empty())
    return kind;
  auto [zipf, topK] = text.rsplit(':');
  std::optional<uint32_t> thousandths = zipf.consume_front(":") ? parseZipf(zipf) : std::nullopt;
  if (!thousandths || topK.getAsInteger(10, kind.routing.topK) || kind.routing.topK == 0)
    return std::nullopt;
  kind.routing.zipfThousandths = *thousandths;
  return kind;
}

} // namespace moec
