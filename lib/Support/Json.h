// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON values, parsing and writing. Only these files know the parser that does the work (nlohmann/json).
#ifndef LIB_SUPPORT_JSON_H
#define LIB_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace moec {

class Json;
struct JsonMember;

using JsonArray = std::vector<Json>;

/// The members of an object in the order in which they were written; keys are unique.
class JsonObject {
public:
  JsonObject();
  JsonObject(const JsonObject &);
  JsonObject(JsonObject &&) noexcept;
  JsonObject &operator=(const JsonObject &);
  JsonObject &operator=(JsonObject &&) noexcept;
  ~JsonObject();

  const std::vector<JsonMember> &members() const { return list; }
  size_t size() const;

  /// The value of `key`, or null. Logarithmic.
  const Json *find(llvm::StringRef key) const;

  /// Adds a member at the end, or replaces the value of the one with this key. Returns *this.
  JsonObject &set(llvm::StringRef key, Json value);

private:
  friend class JsonBuilder;

  /// Sorts the keys of members that were appended directly; returns a key that stands twice, or null.
  const std::string *indexKeys();

  std::vector<JsonMember> list;
  std::vector<uint32_t> byKey; // positions in `list`, sorted by key
};

/// One JSON value. Integers are exact over all of int64 and uint64.
class Json {
public:
  Json(std::nullptr_t = nullptr) : value(nullptr) {}
  Json(bool flag) : value(flag) {}
  template <std::signed_integral T> Json(T number) : value(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T number) : value(static_cast<uint64_t>(number)) {}
  Json(double number) : value(number) {}
  Json(std::string text) : value(std::move(text)) {}
  Json(llvm::StringRef text) : value(text.str()) {}
  Json(const char *text) : value(std::string(text)) {}
  Json(JsonArray elements) : value(std::move(elements)) {}
  Json(JsonObject object) : value(std::move(object)) {}

  bool isNull() const { return std::holds_alternative<std::nullptr_t>(value); }
  std::optional<bool> asBool() const;
  /// Only for numbers that were written as integers and fit.
  std::optional<int64_t> asInt64() const;
  std::optional<uint64_t> asUint64() const;
  /// For every number.
  std::optional<double> asDouble() const;
  const std::string *asString() const { return std::get_if<std::string>(&value); }
  const JsonArray *asArray() const { return std::get_if<JsonArray>(&value); }
  const JsonObject *asObject() const { return std::get_if<JsonObject>(&value); }
  JsonArray *asArray() { return std::get_if<JsonArray>(&value); }
  JsonObject *asObject() { return std::get_if<JsonObject>(&value); }

  /// For the "found" part of messages: `null`, `17`, `"text"` (long ones cut), `an array of 3`, `an object`.
  std::string describe() const;

private:
  friend class JsonWriter;
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, JsonArray, JsonObject> value;
};

struct JsonMember {
  std::string key;
  Json value;
};

inline size_t JsonObject::size() const { return list.size(); }

/// Values nested deeper are refused.
constexpr unsigned kMaxJsonDepth = 64;

/// Parses a whole text. `name` stands in messages: `<name>: parse error at line 3, column 7: ...`.
///
/// Errors: no JSON, invalid UTF-8, a key twice in one object, more than kMaxJsonDepth levels.
llvm::Expected<Json> parseJson(llvm::StringRef text, llvm::StringRef name);

/// Reads and parses a file of at most `maxBytes`; `name` stands in messages, empty means the path.
llvm::Expected<Json> parseJsonFile(llvm::StringRef path, llvm::StringRef name = "", uint64_t maxBytes = 256u << 20);

/// Writes with keys in their order of insertion and an indent of two (0: one line). Real numbers get the shortest text
/// that reads back exactly, those without a value become null; invalid UTF-8 is replaced. Ends without a newline.
std::string writeJson(const Json &value, unsigned indent = 2);

} // namespace moec
#endif
