// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifiers of the `moe` dialect's attributes and types. Main source: dialects/moe/MoeAttributes.td.
#include "dialects/moe/MoeDialect.h"

#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::moe;

namespace {
struct KindOfScheme {
  Scheme scheme;
  moec::EncodingKind kind;
};
} // namespace

/// The schemes that can be stored.
static constexpr KindOfScheme kKinds[] = {{Scheme::f16, moec::EncodingKind::f16},
                                          {Scheme::i8, moec::EncodingKind::i8},
                                          {Scheme::i6, moec::EncodingKind::i6},
                                          {Scheme::i4, moec::EncodingKind::i4}};

llvm::Expected<moec::Encoding> moe::encodingOf(QuantAttr quant) {
  if (!quant)
    return moec::Encoding::f32();
  for (const KindOfScheme &entry : kKinds)
    if (entry.scheme == quant.getScheme())
      return moec::Encoding{entry.kind, quant.getGroup(), quant.getMinimum()};
  return llvm::createStringError("expects a scheme f16, i8, i6 or i4, but got " +
                                 stringifyScheme(quant.getScheme()).str());
}

QuantAttr moe::quantOf(MLIRContext *context, const moec::Encoding &encoding) {
  for (const KindOfScheme &entry : kKinds)
    if (entry.kind == encoding.kind)
      return QuantAttr::get(context, entry.scheme, encoding.group, encoding.minimum);
  return {};
}

bool QuantAttr::isInteger() const { return getScheme() != Scheme::f16; }

LogicalResult QuantAttr::verify(function_ref<InFlightDiagnostic()> emitError, Scheme scheme, int64_t group,
                                bool minimum) {
  if (scheme == Scheme::f16 ? group != 0 : (group != 32 && group != 64 && group != 128))
    return emitError() << "expects a group of 32, 64 or 128 values, or 0 with f16, but got " << group;
  if (minimum && scheme != Scheme::i8 && scheme != Scheme::i4)
    return emitError() << "expects a minimum with schemes i8 and i4 only, but got " << stringifyScheme(scheme);
  return success();
}

LogicalResult ActAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t group) {
  if (group != 32 && group != 64 && group != 128)
    return emitError() << "expects a group of 32, 64 or 128 values, but got " << group;
  return success();
}

LogicalResult SourceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr dtype,
                                 ArrayRef<int64_t> files, ArrayRef<int64_t> offsets, StringAttr) {
  StringRef name = dtype.getValue();
  if (!llvm::is_contained({"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q6_k"}, name))
    return emitError() << "expects dtype f32, f16, bf16, q8_0, q4_0, q4_1 or q6_k, but got " << name;
  if (files.empty() || files.size() != offsets.size())
    return emitError() << "expects one file for each offset, but got " << files.size() << " files and "
                       << offsets.size() << " offsets";
  for (auto [file, offset] : llvm::zip_equal(files, offsets))
    if (file < 0 || offset < 0)
      return emitError() << "expects files and offsets from 0, but got file " << file << " at " << offset;
  return success();
}

LogicalResult RopeScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError, RopeScalingKind kind,
                                      FloatAttr factor, FloatAttr low, FloatAttr high, int64_t original) {
  auto isPositive = [](FloatAttr value) {
    return value && value.getType().isF64() && value.getValue().isFinite() && value.getValueAsDouble() > 0;
  };
  if (!isPositive(factor))
    return emitError() << "expects a positive finite factor of type f64, but got " << factor;
  if (kind == RopeScalingKind::linear && (low || high || original))
    return emitError() << "expects low, high and original with llama3 only";
  if (kind == RopeScalingKind::llama3 &&
      (!isPositive(low) || !isPositive(high) || low.getValueAsDouble() >= high.getValueAsDouble() || original < 1))
    return emitError() << "expects f64 factors 0 < low < high and an original context of at least 1, but got low "
                       << low << ", high " << high << ", original " << original;
  return success();
}

moec::RopeScaling moe::ropeScalingOf(RopeScalingAttr scaling) {
  using moec::RopeScaling;
  if (!scaling)
    return {};
  double factor = scaling.getFactor().getValueAsDouble();
  if (scaling.getKind() == RopeScalingKind::linear)
    return {.kind = RopeScaling::Kind::linear, .factor = factor};
  return {RopeScaling::Kind::llama3, factor, scaling.getLow().getValueAsDouble(), scaling.getHigh().getValueAsDouble(),
          static_cast<double>(scaling.getOriginal())};
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t kvHeads, int64_t qkDim,
                                int64_t vDim, int64_t capacity, Type elem, int64_t window, int64_t sinks) {
  if (kvHeads < 1 || qkDim < 1 || vDim < 1 || capacity < 1)
    return emitError() << "expects positive sizes, but got kv_heads " << kvHeads << ", qk_dim " << qkDim << ", v_dim "
                       << vDim << ", capacity " << capacity;
  if (window < 0 || window > capacity || sinks < 0 || sinks >= capacity || (sinks && !window))
    return emitError() << "expects a window up to the capacity " << capacity
                       << " and, with one, fewer sinks than that, but got window " << window << " and sinks " << sinks;
  if (!elem.isF32() && !elem.isF16() && !elem.isInteger(8) && !elem.isInteger(4))
    return emitError() << "expects elements f32, f16, i8 or i4, but got " << elem;
  return success();
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elem) {
  if (shape.empty() || llvm::any_of(shape, [](int64_t size) { return size < 1; }))
    return emitError() << "expects at least one dimension, each positive";
  // 2^40 values are far above any memory; products of sizes need no further check.
  int64_t numValues = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(numValues, size, numValues) || numValues > (int64_t(1) << 40))
      return emitError() << "expects at most 2^40 values, but got the shape " << llvm::interleaved_array(shape);
  if (!elem.isF32() && !elem.isF16())
    return emitError() << "expects elements f32 or f16, but got " << elem;
  return success();
}
