// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of the interpreter: how they fit types, and how they are written.
#include "lib/Reference/Interpreter.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <cmath>

using namespace mlir;

namespace moec {

static std::string shapeText(llvm::ArrayRef<int64_t> shape, llvm::StringRef element, llvm::StringRef kind = "tensor") {
  std::string text = kind.str() + "<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str() + ">";
}

/// The shape has as many elements as there are values.
static bool isFull(llvm::ArrayRef<int64_t> shape, size_t numValues) {
  uint64_t count = 1;
  for (int64_t size : shape) {
    std::optional<uint64_t> product = size < 0 ? std::nullopt : checkedMul(count, size);
    if (!product)
      return false;
    count = *product;
  }
  return count == numValues;
}

static bool shapeFits(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> expected) {
  return shape.size() == expected.size() && llvm::all_of(llvm::zip_equal(shape, expected), [](auto pair) {
           return ShapedType::isDynamic(std::get<1>(pair)) || std::get<0>(pair) == std::get<1>(pair);
         });
}

static std::optional<KvElement> elementOf(Type type) {
  if (type.isF32())
    return KvElement::f32;
  if (type.isF16())
    return KvElement::f16;
  if (type.isInteger(8))
    return KvElement::i8;
  return type.isInteger(4) ? std::optional(KvElement::i4) : std::nullopt;
}

static std::optional<KvShape> kvShapeOf(moe::CacheType type) {
  std::optional<KvElement> element = elementOf(type.getElem());
  if (!element)
    return std::nullopt;
  return KvShape{type.getKvHeads(), type.getQkDim(),  type.getVDim(), type.getCapacity(),
                 *element,          type.getWindow(), type.getSinks()};
}

llvm::Expected<std::shared_ptr<KvCache>> makeCache(moe::CacheType type) {
  std::optional<KvShape> shape = kvShapeOf(type);
  if (!shape)
    return fault("expects a cache of f32, f16, i8 or i4 elements");
  // 2^24 values of one position: far above any model, and a block of 64 still fits in memory.
  std::optional<uint64_t> keys = checkedMul(shape->heads, shape->keyDim);
  std::optional<uint64_t> values = checkedMul(shape->heads, shape->valueDim);
  if (!keys || !values || *keys > (1u << 24) || *values > (1u << 24))
    return fault("expects at most 2^24 keys and values of one position");
  return std::make_shared<KvCache>(*shape);
}

llvm::Expected<StatePointer> makeState(moe::StateType type) {
  if (!type.getElem().isF32())
    return fault("expects a state of f32 elements");
  uint64_t numValues = 1;
  for (int64_t size : type.getShape()) // at most 2^40 in all by the type's verifier
    numValues *= static_cast<uint64_t>(size);
  // 2^28 values are 1 GiB: far above a layer of any model.
  if (numValues > (uint64_t(1) << 28))
    return fault("expects a state of at most 2^28 values, but got " + llvm::Twine(numValues));
  return std::make_shared<FloatTensor>(FloatTensor{type.getShape().vec(), std::vector<float>(numValues)});
}

llvm::Expected<RuntimeValue> makeEmpty(Type type) {
  if (auto cache = dyn_cast<moe::CacheType>(type))
    return makeCache(cache);
  if (auto state = dyn_cast<moe::StateType>(type))
    return makeState(state);
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return fault("expects a cache or a state, but got " + text);
}

bool fits(const RuntimeValue &value, Type type) {
  if (std::holds_alternative<int64_t>(value))
    return type.isIndex();
  if (auto *cache = std::get_if<std::shared_ptr<KvCache>>(&value)) {
    auto expected = dyn_cast<moe::CacheType>(type);
    return *cache && expected && kvShapeOf(expected) == (*cache)->shape();
  }
  if (auto *state = std::get_if<StatePointer>(&value)) {
    auto expected = dyn_cast<moe::StateType>(type);
    return *state && expected && expected.getElem().isF32() && expected.getShape() == llvm::ArrayRef((*state)->shape) &&
           isFull((*state)->shape, (*state)->values.size());
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  if (auto *handle = std::get_if<WeightHandle>(&value)) {
    moe::WeightOp weight = handle->weight;
    return weight && weight.getType() == type;
  }
  if (auto *act = std::get_if<ActTensor>(&value)) {
    moe::ActAttr encoding = moe::getAct(type);
    return encoding && encoding.getGroup() == act->group && shapeFits({act->rows, act->columns}, tensor.getShape());
  }
  bool isEncoded = bool(moe::getAct(type));
  if (auto *floats = std::get_if<FloatTensor>(&value))
    return !isEncoded && tensor.getElementType().isF32() && shapeFits(floats->shape, tensor.getShape()) &&
           isFull(floats->shape, floats->values.size());
  const IntTensor &ints = std::get<IntTensor>(value);
  return tensor.getElementType().isInteger(32) && shapeFits(ints.shape, tensor.getShape()) &&
         isFull(ints.shape, ints.values.size());
}

std::string describe(const RuntimeValue &value) {
  if (std::holds_alternative<int64_t>(value))
    return "an index";
  if (auto *floats = std::get_if<FloatTensor>(&value))
    return shapeText(floats->shape, "f32");
  if (auto *ints = std::get_if<IntTensor>(&value))
    return shapeText(ints->shape, "i32");
  if (auto *act = std::get_if<ActTensor>(&value))
    return shapeText({act->rows, act->columns}, "f32, #moe.act<group = " + std::to_string(act->group) + ">");
  if (auto *state = std::get_if<StatePointer>(&value))
    return shapeText((*state)->shape, "f32", "state");
  return std::holds_alternative<WeightHandle>(value) ? "a weight" : "a cache";
}

static std::string formatNumber(float value) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end);
}

static std::string formatNumber(int32_t value) { return std::to_string(value); }

template <typename T> static std::string formatElements(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<T> values) {
  if (shape.empty())
    return values.empty() ? "" : formatNumber(values.front());
  std::string text = "[";
  for (int64_t i = 0; i < shape.front(); ++i) {
    size_t size = values.size() / static_cast<size_t>(shape.front());
    text += (i ? ", " : "") + formatElements(shape.drop_front(), values.slice(i * size, size));
  }
  return text + "]";
}

llvm::Expected<std::string> formatValue(const RuntimeValue &value) {
  if (auto *index = std::get_if<int64_t>(&value))
    return "index " + std::to_string(*index);
  if (auto *floats = std::get_if<FloatTensor>(&value))
    return describe(value) + " " + formatElements<float>(floats->shape, floats->values);
  if (auto *state = std::get_if<StatePointer>(&value))
    return describe(value) + " " + formatElements<float>((*state)->shape, (*state)->values);
  if (auto *ints = std::get_if<IntTensor>(&value))
    return describe(value) + " " + formatElements<int32_t>(ints->shape, ints->values);
  if (auto *act = std::get_if<ActTensor>(&value)) {
    std::vector<int32_t> codes(act->codes.begin(), act->codes.end());
    int64_t numGroups = act->columns / act->group;
    return describe(value) + " codes " + formatElements<int32_t>({act->rows, act->columns}, codes) + " scales " +
           formatElements<float>({act->rows, numGroups}, act->scales) + " sums " +
           formatElements<int32_t>({act->rows, numGroups}, act->sums);
  }
  return fault("expects a result that is an index, a tensor or a state, but got " + describe(value));
}

} // namespace moec
