// SPDX-License-Identifier: Apache-2.0
/// \file
/// Filters, tests and methods of the part of Jinja that chat templates use. Part of the import step.
#include "lib/Tokenizer/Jinja.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace moec::jinja {

namespace {

using Kind = Value::Kind;

/// What Python strips. Of Unicode's white space only what the probes of a template can contain.
constexpr StringRef kWhite = " \t\n\r\v\f";

bool stringMethod(StringRef name, StringRef text, const List &arguments, Value &result) {
  bool hasText = !arguments.empty() && arguments[0].kind == Kind::String;
  StringRef first = hasText ? StringRef(arguments[0].text) : kWhite;
  if (!arguments.empty() && !hasText)
    return false;
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    text = name != "rstrip" ? text.ltrim(first) : text;
    text = name != "lstrip" ? text.rtrim(first) : text;
    result = Value::string(text.str());
  } else if (name == "upper" || name == "lower") {
    result = Value::string(name == "upper" ? text.upper() : text.lower());
  } else if (!hasText) {
    return false;
  } else if (name == "startswith" || name == "endswith") {
    result = Value::boolean(name == "startswith" ? text.starts_with(first) : text.ends_with(first));
  } else if (name == "split") {
    int most = arguments.size() > 1 && arguments[1].kind == Kind::Integer ? static_cast<int>(arguments[1].number) : -1;
    llvm::SmallVector<StringRef> parts;
    if (first.empty())
      return false;
    text.split(parts, first, most);
    List list;
    for (StringRef part : parts)
      list.push_back(Value::string(part.str()));
    result = Value::makeList(std::move(list));
  } else if (name == "replace" && arguments.size() == 2 && !first.empty()) {
    std::string out = text.str();
    const std::string &to = arguments[1].text;
    for (size_t at = 0; (at = out.find(first.str(), at)) != std::string::npos; at += to.size())
      out.replace(at, first.size(), to);
    result = Value::string(out);
  } else {
    return false;
  }
  return true;
}

} // namespace

bool callMethod(StringRef name, const Value &object, const List &arguments, Value &result) {
  if (object.kind == Kind::String)
    return stringMethod(name, object.text, arguments, result);
  if (object.kind == Kind::List && name == "append" && arguments.size() == 1) {
    object.list->push_back(arguments[0]);
    result = Value::none();
    return true;
  }
  if (object.kind != Kind::Map)
    return false;
  if (name == "get" && !arguments.empty()) {
    const Value *found = object.find(arguments[0].text);
    result = found ? *found : arguments.size() > 1 ? arguments[1] : Value::none();
    return true;
  }
  if ((name != "items" && name != "keys" && name != "values") || !arguments.empty())
    return false;
  List list;
  for (const auto &[key, value] : *object.map)
    list.push_back(name == "keys"     ? Value::string(key)
                   : name == "values" ? value
                                      : Value::makeList({Value::string(key), value}));
  result = Value::makeList(std::move(list));
  return true;
}

bool applyFilter(StringRef name, const Value &value, const List &arguments, Value &result) {
  bool isText = value.kind == Kind::String, isList = value.kind == Kind::List;
  if (name == "length" || name == "count") {
    if (!isText && !isList && value.kind != Kind::Map)
      return false;
    result = Value::integer(static_cast<int64_t>(isText   ? value.text.size()
                                                 : isList ? value.list->size()
                                                          : value.map->size()));
  } else if (name == "default" || name == "d") {
    bool isReplaced =
        value.kind == Kind::Undefined || (arguments.size() > 1 && arguments[1].isTrue() && !value.isTrue());
    result = isReplaced ? arguments.empty() ? Value::string("") : arguments[0] : value;
  } else if (name == "string" || name == "safe") {
    if (value.kind >= Kind::List)
      return false;
    result = Value::string(textOf(value));
  } else if (name == "trim") {
    if (value.kind >= Kind::List)
      return false;
    return stringMethod("strip", textOf(value), arguments, result);
  } else if (name == "list" && isList) {
    result = value;
  } else if ((name == "first" || name == "last") && isList) {
    result = value.list->empty() ? Value() : name == "first" ? value.list->front() : value.list->back();
  } else if (name == "items") {
    return callMethod("items", value, {}, result);
  } else if (name == "join" && isList) {
    std::string text;
    for (const Value &element : *value.list)
      text += (text.empty() || arguments.empty() ? "" : arguments[0].text) + textOf(element);
    result = Value::string(text);
  } else if (isText && llvm::is_contained({"upper", "lower", "replace"}, name)) {
    return stringMethod(name, value.text, arguments, result);
  } else {
    return false;
  }
  return true;
}

bool applyTest(StringRef name, const Value &value, const List &arguments, bool &result) {
  if (name == "defined" || name == "undefined")
    result = (value.kind != Kind::Undefined) == (name == "defined");
  else if (name == "none")
    result = value.kind == Kind::None;
  else if (name == "string")
    result = value.kind == Kind::String;
  else if (name == "mapping")
    result = value.kind == Kind::Map;
  else if (name == "iterable" || name == "sequence")
    result = value.kind == Kind::String || value.kind == Kind::List || value.kind == Kind::Map;
  else if (name == "number" || name == "integer")
    result = value.kind == Kind::Integer || (name == "number" && value.kind == Kind::Bool);
  else if (name == "boolean")
    result = value.kind == Kind::Bool;
  else if (name == "true" || name == "false")
    result = value.kind == Kind::Bool && (value.number != 0) == (name == "true");
  else if ((name == "equalto" || name == "eq") && arguments.size() == 1)
    result = value == arguments[0];
  else
    return false;
  return true;
}

} // namespace moec::jinja
