// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed reading of JSON values, with messages.
#include "lib/Support/JsonCursor.h"

#include "lib/Support/Fault.h"

#include <cmath>

namespace moec {

llvm::Error JsonCursor::complain(const llvm::Twine &text) const {
  return fault(file + ": " + (path.empty() ? "the document" : path) + " " + text);
}

llvm::Error JsonCursor::wrong(const llvm::Twine &expected) const {
  return complain("is " + value->describe() + ", expects " + expected);
}

std::string JsonCursor::memberPath(llvm::StringRef key) const { return (path.empty() ? key : path + "." + key).str(); }

llvm::Expected<JsonCursor> JsonCursor::at(llvm::StringRef key) const {
  const JsonObject *object = value->asObject();
  if (!object)
    return wrong("an object");
  const Json *member = object->find(key);
  if (!member)
    return fault(file + ": " + memberPath(key) + " is missing");
  return JsonCursor(*this, memberPath(key), *member);
}

std::optional<JsonCursor> JsonCursor::find(llvm::StringRef key) const {
  const JsonObject *object = value->asObject();
  const Json *member = object ? object->find(key) : nullptr;
  if (!member || member->isNull())
    return std::nullopt;
  return JsonCursor(*this, memberPath(key), *member);
}

llvm::Expected<std::vector<JsonCursor>> JsonCursor::elements() const {
  const JsonArray *array = value->asArray();
  if (!array)
    return wrong("an array");
  std::vector<JsonCursor> result;
  result.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i)
    result.push_back(JsonCursor(*this, path + "[" + std::to_string(i) + "]", (*array)[i]));
  return result;
}

llvm::Expected<std::vector<std::pair<std::string, JsonCursor>>> JsonCursor::members() const {
  const JsonObject *object = value->asObject();
  if (!object)
    return wrong("an object");
  std::vector<std::pair<std::string, JsonCursor>> result;
  result.reserve(object->size());
  for (const JsonMember &member : object->members())
    result.emplace_back(member.key, JsonCursor(*this, memberPath(member.key), member.value));
  return result;
}

llvm::Expected<bool> JsonCursor::boolean() const {
  if (std::optional<bool> flag = value->asBool())
    return *flag;
  return wrong("true or false");
}

llvm::Expected<std::string> JsonCursor::string() const {
  if (const std::string *text = value->asString())
    return *text;
  return wrong("a string");
}

llvm::Expected<double> JsonCursor::number(double least, double most) const {
  std::optional<double> number = value->asDouble();
  if (number && std::isfinite(*number) && *number >= least && *number <= most)
    return *number;
  if (least == -std::numeric_limits<double>::max() && most == std::numeric_limits<double>::max())
    return wrong("a number");
  return wrong("a number from " + writeJson(Json(least), 0) + " to " + writeJson(Json(most), 0));
}

llvm::Expected<int64_t> JsonCursor::integer(int64_t least, int64_t most, llvm::StringRef why) const {
  std::optional<int64_t> number = value->asInt64();
  if (number && *number >= least && *number <= most)
    return *number;
  std::string reason = why.empty() ? "" : (" (" + why + ")").str();
  // A number that is merely out of range needs no lesson on integers.
  return wrong((number ? "" : "an integer from ") + llvm::Twine(least) + " to " + llvm::Twine(most) + reason);
}

llvm::Expected<uint64_t> JsonCursor::unsignedInteger() const {
  if (std::optional<uint64_t> number = value->asUint64())
    return *number;
  return wrong("an integer from 0 to 2^64 - 1");
}

} // namespace moec
