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

/// The parts of `text` between the places where `mark` stands, at most `most` of those if it is not negative.
bool splitText(StringRef text, StringRef mark, int64_t most, Budget &budget, List &parts) {
  if (mark.empty() || !budget.takeSearch(text, mark) || !budget.takeText(text.size()))
    return false;
  for (size_t at = 0; most != 0 && (at = text.find(mark)) != StringRef::npos; --most) {
    if (!budget.takeSteps(1))
      return false;
    parts.push_back(Value::string(text.take_front(at).str()));
    text = text.drop_front(at + mark.size());
  }
  parts.push_back(Value::string(text.str()));
  return true;
}

/// False, with the budget spent, where the text gets too long.
bool joinTexts(const List &parts, StringRef between, Budget &budget, Value &result) {
  std::string text;
  for (const Value &part : parts) {
    std::string own = textOf(part);
    StringRef before = &part == &parts.front() ? "" : between;
    if (text.size() + before.size() + own.size() > Budget::kMostText)
      return budget.takeText(Budget::kMostText + 1);
    if (!budget.takeText(before.size() + own.size()) || !budget.takeSteps(1))
      return false;
    text += before;
    text += own;
  }
  result = Value::string(std::move(text));
  return true;
}

bool stringMethod(StringRef name, StringRef text, const List &arguments, Budget &budget, Value &result) {
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
    int64_t most = arguments.size() > 1 && arguments[1].kind == Kind::Integer ? arguments[1].number : -1;
    List list;
    if (!splitText(text, first, most, budget, list))
      return false;
    result = Value::makeList(std::move(list));
  } else if (name == "replace" && arguments.size() == 2 && !first.empty()) {
    List parts;
    return splitText(text, first, -1, budget, parts) && joinTexts(parts, arguments[1].text, budget, result);
  } else {
    return false;
  }
  return true;
}

} // namespace

bool callMethod(StringRef name, const Value &object, const List &arguments, Budget &budget, Value &result) {
  if (object.kind == Kind::String)
    return stringMethod(name, object.text, arguments, budget, result);
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
  for (const auto &[key, value] : *object.map) {
    if (!budget.takeText(key.size() + value.text.size()) || !budget.takeSteps(1))
      return false;
    list.push_back(name == "keys"     ? Value::string(key)
                   : name == "values" ? value
                                      : Value::makeList({Value::string(key), value}));
  }
  result = Value::makeList(std::move(list));
  return true;
}

bool applyFilter(StringRef name, const Value &value, const List &arguments, Budget &budget, Value &result) {
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
    return stringMethod("strip", textOf(value), arguments, budget, result);
  } else if (name == "list" && isList) {
    result = value;
  } else if ((name == "first" || name == "last") && isList) {
    result = value.list->empty() ? Value() : name == "first" ? value.list->front() : value.list->back();
  } else if (name == "items") {
    return callMethod("items", value, {}, budget, result);
  } else if (name == "join" && isList) {
    return joinTexts(*value.list, arguments.empty() ? StringRef() : StringRef(arguments[0].text), budget, result);
  } else if (isText && llvm::is_contained({"upper", "lower", "replace"}, name)) {
    return stringMethod(name, value.text, arguments, budget, result);
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
