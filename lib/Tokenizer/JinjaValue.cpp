// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of the part of Jinja that chat templates use. Part of the import step.
#include "lib/Tokenizer/Jinja.h"

using llvm::StringRef;

namespace moec::jinja {

Value Value::boolean(bool value) {
  Value result(Kind::Bool);
  result.number = value;
  return result;
}

Value Value::integer(int64_t value) {
  Value result(Kind::Integer);
  result.number = value;
  return result;
}

Value Value::string(std::string text) {
  Value result(Kind::String);
  result.text = std::move(text);
  return result;
}

Value Value::makeList(List elements) {
  Value result(Kind::List);
  result.list = std::make_shared<List>(std::move(elements));
  return result;
}

Value Value::makeMap(Map members) {
  Value result(Kind::Map);
  result.map = std::make_shared<Map>(std::move(members));
  return result;
}

bool Value::isTrue() const {
  switch (kind) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Integer:
    return number != 0;
  case Kind::String:
    return !text.empty();
  case Kind::List:
    return !list->empty();
  case Kind::Map:
    return !map->empty();
  case Kind::Macro:
  case Kind::Function:
    return true;
  }
  return false;
}

bool Value::operator==(const Value &other) const {
  auto isNumber = [](Kind k) { return k == Kind::Bool || k == Kind::Integer; };
  if (isNumber(kind) && isNumber(other.kind))
    return number == other.number;
  if (kind != other.kind)
    return false;
  if (kind == Kind::String)
    return text == other.text;
  // Lists and maps are compared by identity: no template compares their contents.
  return kind == Kind::List ? list == other.list : kind == Kind::Map ? map == other.map : true;
}

const Value *Value::find(StringRef key) const {
  if (kind == Kind::Map)
    for (const auto &[name, value] : *map)
      if (name == key)
        return &value;
  return nullptr;
}

void Value::set(StringRef key, Value value) {
  for (auto &[name, old] : *map)
    if (name == key) {
      old = std::move(value);
      return;
    }
  map->emplace_back(key.str(), std::move(value));
}

std::string textOf(const Value &value) {
  switch (value.kind) {
  case Value::Kind::None:
    return "None";
  case Value::Kind::Bool:
    return value.number ? "True" : "False";
  case Value::Kind::Integer:
    return std::to_string(value.number);
  case Value::Kind::String:
    return value.text;
  default:
    return "";
  }
}

bool Budget::takeList(const List &list) {
  bool isLeft = takeSteps(list.size() / 8);
  for (const Value &element : list)
    isLeft = isLeft && takeText(element.text.size());
  return isLeft;
}

} // namespace moec::jinja
