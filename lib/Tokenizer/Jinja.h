// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of Jinja that chat templates use: a parser and an evaluator. Used at compile time only, to find out what a
/// template makes of a few conversations. Part of the import step. Main source: the template designer documentation of
/// Jinja 3, with the settings of Hugging Face (trim_blocks, lstrip_blocks, loop controls).
#ifndef LIB_TOKENIZER_JINJA_H
#define LIB_TOKENIZER_JINJA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace moec::jinja {

/// A node of the syntax tree; what the fields hold is said by the kind.
struct Node {
  enum class Kind {
    // Statements. `children` are bodies; expressions come first.
    Block,    // children: statements
    Text,     // text
    Output,   // [expression]
    Set,      // text = [expression]; with `name`: text.name = [expression]
    SetBlock, // text = what [Block] writes
    If,       // [condition, Block, else Block or If]
    For,      // names in [list, condition or null, Block, else Block or null]
    Macro,    // text(names = children but the last), body is the last
    Break,
    Continue,
    // Expressions.
    Name,      // text
    String,    // text
    Integer,   // number
    List,      // children
    Map,       // key, value, key, value, ...
    Member,    // [object].text
    Index,     // [object, index]
    Slice,     // [object, start or null, stop or null, step or null]
    Call,      // [callee, arguments]; names: of the arguments, empty where positional
    Filter,    // [value, arguments] | text
    Test,      // [value, arguments] is text
    Not,       // [operand]
    Negate,    // [operand]
    Binary,    // [left, right], text is the operator
    Condition, // [then, condition, else or null]
  };
  explicit Node(Kind kind, std::string text = "") : kind(kind), text(std::move(text)) {}

  Kind kind;
  std::string text;
  std::string name;
  int64_t number = 0;
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Node>> children;
};

using NodePtr = std::unique_ptr<Node>;

/// Parses a template. Errors: bad syntax or a statement that is not known, with its line.
llvm::Expected<NodePtr> parseTemplate(llvm::StringRef text);

struct Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;

/// Lists and maps are shared, so a namespace can be changed through any copy.
struct Value {
  enum class Kind { Undefined, None, Bool, Integer, String, List, Map, Macro, Function };

  static Value none() { return Value(Kind::None); }
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value string(std::string text);
  static Value makeList(List elements = {});
  static Value makeMap(Map members = {});

  Value(Kind kind = Kind::Undefined) : kind(kind) {}
  bool isTrue() const;
  bool operator==(const Value &other) const;
  const Value *find(llvm::StringRef key) const;
  void set(llvm::StringRef key, Value value);

  Kind kind;
  int64_t number = 0;            // Bool, Integer
  std::string text;              // String; Function: its name
  std::shared_ptr<List> list;    // List
  std::shared_ptr<Map> map;      // Map
  const Node *macro = nullptr;   // Macro
  std::shared_ptr<Value> object; // Function: a method of this
};

/// What a template writes for the given variables.
///
/// Errors: something that this evaluator lacks, named; raise_exception with its text; too many steps or too much text.
llvm::Expected<std::string> render(const Node &root, const Map &variables);

/// The work that a template may take, in steps: about a node that is evaluated, or 64 bytes that are copied.
class Budget {
public:
  bool takeSteps(size_t count) {
    steps = count < kMostSteps - steps ? steps + count : kMostSteps;
    return !isSpent();
  }
  /// Must come before the text is made.
  bool takeText(size_t bytes) { return takeSteps(bytes > kMostText ? kMostSteps : bytes / 64); }
  /// A copy of the elements, with their texts.
  bool takeList(const List &list);
  /// Looking for `part` everywhere in `whole`, at worst.
  bool takeSearch(llvm::StringRef whole, llvm::StringRef part) {
    return takeSteps((whole.size() / 64 + 1) * (part.size() / 64 + 1));
  }
  bool isSpent() const { return steps >= kMostSteps; }

  /// Far above what a template takes for a short conversation.
  static constexpr size_t kMostSteps = 50000;
  static constexpr size_t kMostText = 1u << 20;

private:
  size_t steps = 0;
};

/// Filters, tests, and methods of values; false where `name` is not known, the arguments do not fit or the budget is
/// spent.
bool applyFilter(llvm::StringRef name, const Value &value, const List &arguments, Budget &budget, Value &result);
bool applyTest(llvm::StringRef name, const Value &value, const List &arguments, bool &result);
bool callMethod(llvm::StringRef name, const Value &object, const List &arguments, Budget &budget, Value &result);
/// The text that an output writes.
std::string textOf(const Value &value);

} // namespace moec::jinja
#endif
