// SPDX-License-Identifier: Apache-2.0
/// \file
/// The value type, and the parser behind it: events of nlohmann/json's SAX interface, which reports errors as values.
#include "lib/Support/Json.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

#include <numeric>

namespace moec {

//===--- Values ---===//

JsonObject::JsonObject() = default;
JsonObject::JsonObject(const JsonObject &) = default;
JsonObject::JsonObject(JsonObject &&) noexcept = default;
JsonObject &JsonObject::operator=(const JsonObject &) = default;
JsonObject &JsonObject::operator=(JsonObject &&) noexcept = default;
JsonObject::~JsonObject() = default;

const Json *JsonObject::find(llvm::StringRef key) const {
  auto at = llvm::partition_point(byKey, [&](uint32_t index) { return llvm::StringRef(list[index].key) < key; });
  return at != byKey.end() && list[*at].key == key ? &list[*at].value : nullptr;
}

JsonObject &JsonObject::set(llvm::StringRef key, Json value) {
  auto at = llvm::partition_point(byKey, [&](uint32_t index) { return llvm::StringRef(list[index].key) < key; });
  if (at != byKey.end() && list[*at].key == key) {
    list[*at].value = std::move(value);
    return *this;
  }
  byKey.insert(at, static_cast<uint32_t>(list.size()));
  list.push_back({key.str(), std::move(value)});
  return *this;
}

const std::string *JsonObject::indexKeys() {
  byKey.resize(list.size());
  std::iota(byKey.begin(), byKey.end(), 0);
  llvm::sort(byKey, [&](uint32_t a, uint32_t b) { return list[a].key < list[b].key; });
  for (size_t i = 1; i < byKey.size(); ++i)
    if (list[byKey[i - 1]].key == list[byKey[i]].key)
      return &list[byKey[i]].key;
  return nullptr;
}

std::optional<bool> Json::asBool() const {
  const bool *flag = std::get_if<bool>(&value);
  return flag ? std::optional<bool>(*flag) : std::nullopt;
}

std::optional<int64_t> Json::asInt64() const {
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return *number;
  if (const uint64_t *number = std::get_if<uint64_t>(&value); number && *number <= INT64_MAX)
    return static_cast<int64_t>(*number);
  return std::nullopt;
}

std::optional<uint64_t> Json::asUint64() const {
  if (const uint64_t *number = std::get_if<uint64_t>(&value))
    return *number;
  if (const int64_t *number = std::get_if<int64_t>(&value); number && *number >= 0)
    return static_cast<uint64_t>(*number);
  return std::nullopt;
}

std::optional<double> Json::asDouble() const {
  if (const double *number = std::get_if<double>(&value))
    return *number;
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return static_cast<double>(*number);
  if (const uint64_t *number = std::get_if<uint64_t>(&value))
    return static_cast<double>(*number);
  return std::nullopt;
}

std::string Json::describe() const {
  if (const JsonArray *array = asArray())
    return "an array of " + std::to_string(array->size());
  if (asObject())
    return "an object";
  if (const std::string *text = asString(); text && text->size() > 80)
    return writeJson(Json(text->substr(0, 77) + "..."), 0);
  return writeJson(*this, 0);
}

//===--- Parsing ---===//

/// Takes parser events and builds values; the open containers are a stack, so nothing recurses.
class JsonBuilder {
public:
  explicit JsonBuilder(llvm::StringRef name) : name(name) {}

  bool null() { return add(Json()); }
  bool boolean(bool flag) { return add(Json(flag)); }
  bool number_integer(int64_t number) { return add(Json(number)); }
  bool number_unsigned(uint64_t number) { return add(Json(number)); }
  bool number_float(double number, const std::string &) { return add(Json(number)); }
  bool string(std::string &text) { return add(Json(std::move(text))); }
  bool binary(nlohmann::json::binary_t &) { return refuse("binary values are not JSON"); }
  bool start_object(size_t) { return open(Json(JsonObject())); }
  bool start_array(size_t) { return open(Json(JsonArray())); }
  bool key(std::string &text) {
    stack.back().asObject()->list.push_back({std::move(text), Json()});
    return true;
  }
  bool end_object() {
    if (const std::string *twice = stack.back().asObject()->indexKeys())
      return refuse("duplicate key " + Json(*twice).describe() + where());
    return close();
  }
  bool end_array() { return close(); }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) {
    // "[json.exception.parse_error.101] parse error at line ...": the number in brackets says nothing to a user.
    llvm::StringRef text = error.what();
    if (text.starts_with("["))
      text = text.split("] ").second;
    return refuse(text);
  }

  std::string message;
  Json result;

private:
  bool refuse(const llvm::Twine &text) {
    message = (name + ": " + text).str();
    return false;
  }

  /// " in 'a.b'" for the container that is open now; nothing for the outermost.
  std::string where() const {
    std::string path;
    for (const Json &container : llvm::ArrayRef(stack).drop_back())
      if (const JsonObject *object = container.asObject())
        path += (path.empty() ? "" : ".") + object->members().back().key;
      else
        path += "[" + std::to_string(container.asArray()->size()) + "]";
    return path.empty() ? "" : " in '" + path + "'";
  }

  bool open(Json container) {
    if (stack.size() == kMaxJsonDepth)
      return refuse("values are nested deeper than " + llvm::Twine(kMaxJsonDepth) + " levels");
    stack.push_back(std::move(container));
    return true;
  }

  bool close() {
    Json done = std::move(stack.back());
    stack.pop_back();
    return add(std::move(done));
  }

  bool add(Json value) {
    if (stack.empty())
      result = std::move(value);
    else if (JsonArray *array = stack.back().asArray())
      array->push_back(std::move(value));
    else
      stack.back().asObject()->list.back().value = std::move(value);
    return true;
  }

  llvm::StringRef name;
  std::vector<Json> stack;
};

llvm::Expected<Json> parseJson(llvm::StringRef text, llvm::StringRef name) {
  JsonBuilder builder(name);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    return fault(builder.message.empty() ? (name + ": is not JSON").str() : builder.message);
  return std::move(builder.result);
}

llvm::Expected<Json> parseJsonFile(llvm::StringRef path, llvm::StringRef name, uint64_t maxBytes) {
  llvm::Expected<std::string> text = readTextFile(path, maxBytes);
  if (!text)
    return text.takeError();
  return parseJson(*text, name.empty() ? path : name);
}

} // namespace moec
