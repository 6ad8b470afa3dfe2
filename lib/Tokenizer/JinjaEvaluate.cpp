// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evaluator of the part of Jinja that chat templates use. Part of the import step.
#include "lib/Tokenizer/Jinja.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;
using llvm::Twine;

namespace moec::jinja {

namespace {

constexpr unsigned kMostDepth = 200;
constexpr char kTooMuch[] = "it takes too many steps";
constexpr size_t kMostSteps = Budget::kMostSteps, kMostText = Budget::kMostText;

class Evaluator {
public:
  explicit Evaluator(const Map &variables) { scopes.emplace_back(variables.begin(), variables.end()); }

  llvm::Expected<std::string> run(const Node &root) {
    execute(root);
    if (!failure.empty())
      return fault(failure);
    return std::move(output);
  }

private:
  enum class Flow { Next, Break, Continue };

  Value fail(const Twine &text) {
    if (failure.empty())
      failure = text.str();
    return {};
  }
  /// What the names that a function may lack come to, or the end of the budget.
  Value failUse(const Twine &text) { return fail(budget.isSpent() ? kTooMuch : text); }
  bool failed() const { return !failure.empty(); }

  Flow execute(const Node &node);
  Flow loop(const Node &node);
  Value loopVariable(const List &items, size_t index) const;
  void assign(const Node &node);
  Value evaluate(const Node &node);
  Value evaluateInner(const Node &node);
  Value name(StringRef name) const;
  Value member(const Node &node);
  Value index(const Value &object, const Value &key);
  Value slice(const Node &node);
  Value call(const Node &node);
  Value callFunction(StringRef name, const List &arguments, const Map &named);
  Value callMacro(const Node &macro, const List &arguments, const Map &named);
  Value binary(const Node &node);
  Value compare(StringRef sign, const Value &left, const Value &right);
  Value contains(const Value &whole, const Value &part);
  Value arithmetic(StringRef sign, const Value &left, const Value &right);
  Value filterOrTest(const Node &node);
  List evaluateAll(const Node &node, size_t first);
  const Node *child(const Node &node, size_t i) const {
    return i < node.children.size() ? node.children[i].get() : nullptr;
  }

  std::vector<std::map<std::string, Value, std::less<>>> scopes;
  std::string output, failure;
  Budget budget;
  unsigned depth = 0;
};

//===--- statements -----------------------------------------------------------------------------------------------===//

Evaluator::Flow Evaluator::execute(const Node &node) {
  if (failed() || !budget.takeSteps(1) || depth > kMostDepth || output.size() > kMostText)
    return fail(kTooMuch), Flow::Break;
  switch (node.kind) {
  case Node::Kind::Block:
    for (const NodePtr &statement : node.children)
      if (Flow flow = execute(*statement); flow != Flow::Next || failed())
        return flow;
    return Flow::Next;
  case Node::Kind::Text:
    if (!budget.takeText(node.text.size()))
      return fail(kTooMuch), Flow::Break;
    output += node.text;
    return Flow::Next;
  case Node::Kind::Output: {
    Value value = evaluate(*node.children[0]);
    if (value.kind >= Value::Kind::List)
      fail("it writes a list, a map or a function as text");
    output += textOf(value);
    return Flow::Next;
  }
  case Node::Kind::If:
    if (evaluate(*node.children[0]).isTrue())
      return execute(*node.children[1]);
    return child(node, 2) ? execute(*node.children[2]) : Flow::Next;
  case Node::Kind::For:
    return loop(node);
  case Node::Kind::Set:
  case Node::Kind::SetBlock:
    assign(node);
    return Flow::Next;
  case Node::Kind::Macro: {
    Value macro(Value::Kind::Macro);
    macro.macro = &node;
    scopes.back()[node.text] = macro;
    return Flow::Next;
  }
  case Node::Kind::Break:
    return Flow::Break;
  case Node::Kind::Continue:
    return Flow::Continue;
  default:
    fail("an expression stands where a statement should");
    return Flow::Break;
  }
}

void Evaluator::assign(const Node &node) {
  Value value;
  if (node.kind == Node::Kind::SetBlock) {
    std::string outer;
    std::swap(outer, output);
    execute(*node.children[0]);
    std::swap(outer, output);
    value = Value::string(outer);
  } else {
    value = evaluate(*node.children[0]);
  }
  if (node.name.empty()) {
    scopes.back()[node.text] = value;
    return;
  }
  Value object = name(node.text);
  if (object.kind != Value::Kind::Map)
    fail("'" + node.text + "' is not a namespace");
  else
    object.set(node.name, value);
}

Value Evaluator::loopVariable(const List &items, size_t i) const {
  auto count = static_cast<int64_t>(items.size()), at = static_cast<int64_t>(i);
  return Value::makeMap({{"index0", Value::integer(at)},
                         {"index", Value::integer(at + 1)},
                         {"revindex0", Value::integer(count - at - 1)},
                         {"revindex", Value::integer(count - at)},
                         {"first", Value::boolean(i == 0)},
                         {"last", Value::boolean(at + 1 == count)},
                         {"length", Value::integer(count)},
                         {"previtem", i == 0 ? Value() : items[i - 1]},
                         {"nextitem", at + 1 == count ? Value() : items[i + 1]}});
}

Evaluator::Flow Evaluator::loop(const Node &node) {
  Value list = evaluate(*node.children[0]);
  List items;
  // Each item is copied for itself and as the neighbor of two more.
  if (list.kind == Value::Kind::List) {
    if (!budget.takeList(*list.list) || !budget.takeList(*list.list) || !budget.takeList(*list.list))
      return fail(kTooMuch), Flow::Break;
    items = *list.list;
  } else if (list.kind == Value::Kind::Map) {
    for (const auto &[key, value] : *list.map)
      items.push_back(Value::string(key));
  } else if (list.kind != Value::Kind::Undefined) {
    return fail("it loops over something that is no list"), Flow::Break;
  }
  auto bind = [&](const Value &item) {
    if (node.names.size() == 1) {
      scopes.back()[node.names[0]] = item;
      return true;
    }
    if (item.kind != Value::Kind::List || item.list->size() != node.names.size())
      return false;
    for (auto [name, part] : llvm::zip(node.names, *item.list))
      scopes.back()[name] = part;
    return true;
  };
  ++depth;
  if (const Node *condition = child(node, 1)) {
    List kept;
    for (const Value &item : items) {
      scopes.emplace_back();
      bool isKept = bind(item) && evaluate(*condition).isTrue();
      scopes.pop_back();
      if (isKept)
        kept.push_back(item);
    }
    items = std::move(kept);
  }
  for (size_t i = 0; i < items.size() && !failed(); ++i) {
    scopes.emplace_back();
    if (!bind(items[i]))
      fail("it loops with several names over something else than pairs");
    scopes.back()["loop"] = loopVariable(items, i);
    Flow flow = execute(*node.children[2]);
    scopes.pop_back();
    if (flow == Flow::Break)
      break;
  }
  if (items.empty() && child(node, 3))
    execute(*node.children[3]);
  --depth;
  return Flow::Next;
}

//===--- expressions ----------------------------------------------------------------------------------------------===//

Value Evaluator::name(StringRef name) const {
  if (name == "true" || name == "True")
    return Value::boolean(true);
  if (name == "false" || name == "False")
    return Value::boolean(false);
  if (name == "none" || name == "None")
    return Value::none();
  for (const auto &scope : llvm::reverse(scopes))
    if (auto found = scope.find(name); found != scope.end())
      return found->second;
  for (StringRef known : {"raise_exception", "namespace", "range", "dict"})
    if (name == known) {
      Value function(Value::Kind::Function);
      function.text = name.str();
      return function;
    }
  return {};
}

Value Evaluator::member(const Node &node) {
  Value object = evaluate(*node.children[0]);
  if (object.kind == Value::Kind::Undefined)
    return fail("it takes '" + node.text + "' of something that is not defined");
  // As in Python a method goes before a key: `message.items` is none of the message's own.
  bool isMethod = object.kind == Value::Kind::String ||
                  llvm::is_contained({"items", "keys", "values", "get", "append"}, StringRef(node.text));
  if (const Value *found = isMethod ? nullptr : object.find(node.text))
    return *found;
  if (!isMethod)
    return {};
  Value method(Value::Kind::Function);
  method.text = node.text;
  method.object = std::make_shared<Value>(object);
  return method;
}

Value Evaluator::index(const Value &object, const Value &key) {
  if (key.kind == Value::Kind::String) {
    const Value *found = object.find(key.text);
    return found ? *found : Value();
  }
  if (key.kind != Value::Kind::Integer || object.kind != Value::Kind::List)
    return fail("it takes an element of something that has none");
  auto count = static_cast<int64_t>(object.list->size());
  int64_t at = key.number < 0 ? key.number + count : key.number;
  return at >= 0 && at < count ? (*object.list)[static_cast<size_t>(at)] : Value();
}

Value Evaluator::slice(const Node &node) {
  Value object = evaluate(*node.children[0]);
  int64_t bounds[3];
  bool isGiven[3];
  for (size_t i = 0; i < 3; ++i) {
    const Node *part = child(node, i + 1);
    Value value = part ? evaluate(*part) : Value::integer(i == 2 ? 1 : 0);
    isGiven[i] = part && value.kind == Value::Kind::Integer;
    bounds[i] = value.number;
  }
  int64_t step = bounds[2];
  bool isText = object.kind == Value::Kind::String;
  if ((object.kind != Value::Kind::List && !isText) || (step != 1 && step != -1) || (isText && step != 1))
    return fail("it takes a slice that is not supported");
  auto count = static_cast<int64_t>(isText ? object.text.size() : object.list->size());
  auto bound = [&](size_t i, int64_t absent, int64_t least, int64_t most) {
    if (!isGiven[i])
      return absent;
    int64_t at = bounds[i] < 0 ? bounds[i] + count : bounds[i];
    return std::min(std::max(at, least), most);
  };
  if (isText) {
    int64_t begin = bound(0, 0, 0, count), end = bound(1, count, 0, count);
    return Value::string(begin < end ? object.text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin))
                                     : "");
  }
  int64_t begin = step > 0 ? bound(0, 0, 0, count) : bound(0, count - 1, -1, count - 1);
  int64_t end = step > 0 ? bound(1, count, 0, count) : bound(1, -1, -1, count - 1);
  List part;
  if (!budget.takeList(*object.list))
    return fail(kTooMuch);
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    part.push_back((*object.list)[static_cast<size_t>(i)]);
  return Value::makeList(std::move(part));
}

List Evaluator::evaluateAll(const Node &node, size_t first) {
  List values;
  for (size_t i = first; i < node.children.size(); ++i)
    values.push_back(evaluate(*node.children[i]));
  return values;
}

Value Evaluator::call(const Node &node) {
  Value callee = evaluate(*node.children[0]);
  List values = evaluateAll(node, 1), arguments;
  Map named;
  for (auto [name, value] : llvm::zip(node.names, values)) {
    if (name.empty())
      arguments.push_back(value);
    else
      named.emplace_back(name, value);
  }
  if (failed())
    return {};
  if (callee.kind == Value::Kind::Macro)
    return callMacro(*callee.macro, arguments, named);
  if (callee.kind != Value::Kind::Function) {
    const Node &what = *node.children[0];
    return fail("it calls '" + (what.text.empty() ? std::string("something") : what.text) +
                "', a function that is not known");
  }
  if (!callee.object)
    return callFunction(callee.text, arguments, named);
  Value result;
  if (!named.empty() || !callMethod(callee.text, *callee.object, arguments, budget, result))
    return failUse("it uses the method '" + callee.text + "' in a way that is not known");
  return result;
}

Value Evaluator::callFunction(StringRef name, const List &arguments, const Map &named) {
  if (name == "raise_exception")
    return fail("it refuses with '" + (arguments.empty() ? std::string() : textOf(arguments[0])) + "'");
  if (name == "namespace" || name == "dict")
    return Value::makeMap(named);
  int64_t begin = arguments.size() > 1 ? arguments[0].number : 0;
  int64_t end = arguments.empty() ? 0 : arguments[arguments.size() > 1].number;
  constexpr int64_t kMost = kMostSteps;
  if (arguments.size() > 2 || begin < -kMost || begin > kMost || end > begin + kMost)
    return fail("it uses 'range' in a way that is not known");
  List numbers;
  for (int64_t i = begin; i < end; ++i)
    numbers.push_back(Value::integer(i));
  return Value::makeList(std::move(numbers));
}

Value Evaluator::callMacro(const Node &macro, const List &arguments, const Map &named) {
  if (depth > kMostDepth / 4)
    return fail("its macros call each other too deeply");
  std::map<std::string, Value, std::less<>> scope;
  for (size_t i = 0; i < macro.names.size(); ++i) {
    auto given = llvm::find_if(named, [&](const auto &entry) { return entry.first == macro.names[i]; });
    const Node *byDefault = macro.children[i].get();
    scope[macro.names[i]] = i < arguments.size()   ? arguments[i]
                            : given != named.end() ? given->second
                            : byDefault            ? evaluate(*byDefault)
                                                   : Value();
  }
  // A macro sees what is global and what it was given.
  auto caller = std::move(scopes);
  scopes.clear();
  scopes.push_back(std::move(caller.front()));
  scopes.push_back(std::move(scope));
  std::string outer;
  std::swap(outer, output);
  depth += 10;
  execute(*macro.children.back());
  depth -= 10;
  std::swap(outer, output);
  caller.front() = std::move(scopes.front());
  scopes = std::move(caller);
  return Value::string(outer);
}

Value Evaluator::contains(const Value &whole, const Value &part) {
  if (whole.kind == Value::Kind::String && part.kind == Value::Kind::String) {
    if (!budget.takeSearch(whole.text, part.text))
      return fail(kTooMuch);
    return Value::boolean(StringRef(whole.text).contains(part.text));
  }
  if (whole.kind == Value::Kind::Map && part.kind == Value::Kind::String)
    return Value::boolean(whole.find(part.text));
  if (whole.kind == Value::Kind::List)
    return Value::boolean(llvm::is_contained(*whole.list, part));
  return fail("it uses 'in' on something that is neither text nor list nor map");
}

Value Evaluator::compare(StringRef sign, const Value &left, const Value &right) {
  if (sign == "==" || sign == "!=")
    return Value::boolean((left == right) == (sign == "=="));
  bool areNumbers = left.kind == Value::Kind::Integer && right.kind == Value::Kind::Integer;
  if (!areNumbers && (left.kind != Value::Kind::String || right.kind != Value::Kind::String))
    return fail("it compares values of different kinds");
  int order = areNumbers ? (left.number > right.number) - (left.number < right.number) : left.text.compare(right.text);
  return Value::boolean(sign == "<" ? order < 0 : sign == ">" ? order > 0 : sign == "<=" ? order <= 0 : order >= 0);
}

Value Evaluator::arithmetic(StringRef sign, const Value &left, const Value &right) {
  bool areTexts = left.kind == Value::Kind::String && right.kind == Value::Kind::String;
  if (sign == "~" || (sign == "+" && areTexts)) {
    if (left.text.size() + right.text.size() > kMostText)
      return fail("it makes too much text");
    return Value::string(textOf(left) + textOf(right));
  }
  if (sign == "+" && left.kind == Value::Kind::List && right.kind == Value::Kind::List) {
    if (left.list->size() + right.list->size() > kMostSteps)
      return fail("it makes too long a list");
    if (!budget.takeList(*left.list) || !budget.takeList(*right.list))
      return fail(kTooMuch);
    List both = *left.list;
    both.insert(both.end(), right.list->begin(), right.list->end());
    return Value::makeList(std::move(both));
  }
  constexpr int64_t kMost = 1 << 30;
  auto isSmall = [](const Value &v) { return v.kind == Value::Kind::Integer && v.number < kMost && v.number > -kMost; };
  if (!isSmall(left) || !isSmall(right))
    return fail("it uses '" + sign + "' on something else than small numbers or texts");
  int64_t a = left.number, b = right.number;
  if (sign == "+" || sign == "-")
    return Value::integer(sign == "+" ? a + b : a - b);
  if (sign == "*")
    return Value::integer(a * b);
  if (sign == "/" || b == 0)
    return fail("it divides in a way that is not supported");
  int64_t rest = ((a % b) + b) % b;
  return Value::integer(sign == "%" ? rest : (a - rest) / b);
}

Value Evaluator::binary(const Node &node) {
  Value left = evaluate(*node.children[0]);
  StringRef sign = node.text;
  if (sign == "and" || sign == "or")
    return left.isTrue() == (sign == "or") ? left : evaluate(*node.children[1]);
  Value right = evaluate(*node.children[1]);
  if (failed())
    return {};
  if (sign == "in" || sign == "not in") {
    Value found = contains(right, left);
    return sign == "in" ? found : Value::boolean(!found.isTrue());
  }
  bool isComparison = llvm::is_contained({"==", "!=", "<", ">", "<=", ">="}, sign);
  return isComparison ? compare(sign, left, right) : arithmetic(sign, left, right);
}

Value Evaluator::filterOrTest(const Node &node) {
  Value value = evaluate(*node.children[0]), result;
  List arguments = evaluateAll(node, 1);
  if (failed())
    return {};
  if (node.kind == Node::Kind::Filter)
    return applyFilter(node.text, value, arguments, budget, result)
               ? result
               : failUse("it uses the filter '" + node.text + "' in a way that is not known");
  bool isTrue = false;
  return applyTest(node.text, value, arguments, isTrue)
             ? Value::boolean(isTrue)
             : fail("it uses the test '" + node.text + "' in a way that is not known");
}

Value Evaluator::evaluate(const Node &node) {
  if (failed() || !budget.takeSteps(1) || depth > kMostDepth)
    return fail(kTooMuch);
  ++depth;
  Value value = evaluateInner(node);
  --depth;
  // What is counted here is refused with the next node.
  budget.takeText(value.text.size());
  budget.takeSteps((value.list ? value.list->size() / 8 : 0) + (value.map ? value.map->size() / 8 : 0));
  return value;
}

Value Evaluator::evaluateInner(const Node &node) {
  switch (node.kind) {
  case Node::Kind::Name:
    return name(node.text);
  case Node::Kind::String:
    return Value::string(node.text);
  case Node::Kind::Integer:
    return Value::integer(node.number);
  case Node::Kind::List:
    return Value::makeList(evaluateAll(node, 0));
  case Node::Kind::Map: {
    Value map = Value::makeMap();
    for (size_t i = 0; i + 1 < node.children.size() && !failed(); i += 2)
      if (budget.takeSteps(map.map->size() / 8))
        map.set(textOf(evaluate(*node.children[i])), evaluate(*node.children[i + 1]));
    return map;
  }
  case Node::Kind::Member:
    return member(node);
  case Node::Kind::Index: {
    Value object = evaluate(*node.children[0]);
    return index(object, evaluate(*node.children[1]));
  }
  case Node::Kind::Slice:
    return slice(node);
  case Node::Kind::Call:
    return call(node);
  case Node::Kind::Filter:
  case Node::Kind::Test:
    return filterOrTest(node);
  case Node::Kind::Not:
    return Value::boolean(!evaluate(*node.children[0]).isTrue());
  case Node::Kind::Negate: {
    Value value = evaluate(*node.children[0]);
    return value.kind == Value::Kind::Integer ? Value::integer(-value.number) : fail("it negates no number");
  }
  case Node::Kind::Binary:
    return binary(node);
  case Node::Kind::Condition:
    if (evaluate(*node.children[1]).isTrue())
      return evaluate(*node.children[0]);
    return child(node, 2) ? evaluate(*node.children[2]) : Value();
  default:
    return fail("a statement stands where an expression should");
  }
}

} // namespace

llvm::Expected<std::string> render(const Node &root, const Map &variables) { return Evaluator(variables).run(root); }

} // namespace moec::jinja
