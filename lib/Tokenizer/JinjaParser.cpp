// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parser of the part of Jinja that chat templates use. Part of the import step.
#include "lib/Tokenizer/JinjaLexer.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;
using llvm::Twine;

namespace moec::jinja {

namespace {

/// Nested deeper is refused, so that recursion is bounded.
constexpr unsigned kMostDepth = 60;
/// Operators, members and filters of one expression.
constexpr unsigned kMostChain = 500;

//===--- expressions ----------------------------------------------------------------------------------------------===//

/// Parses the tokens of one piece. A null node means that an error was noted.
class ExpressionParser {
public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  bool isAtEnd() const { return peek().kind == Token::Kind::End; }
  bool isOperator(StringRef text) const { return peek().kind == Token::Kind::Operator && peek().text == text; }
  bool isName(StringRef text) const { return peek().kind == Token::Kind::Name && peek().text == text; }
  bool takeOperator(StringRef text) { return isOperator(text) && (++position, true); }
  bool takeName(StringRef text) { return isName(text) && (++position, true); }
  std::string takeAnyName() { return peek().kind == Token::Kind::Name ? tokens[position++].text : std::string(); }
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }

  /// `withCondition` takes `a if b else c`; a loop over a list with a filter has its own `if`.
  NodePtr expression(bool withCondition = true) {
    if (++depth > kMostDepth)
      return nullptr;
    NodePtr node = binary(0);
    while (withCondition && node && takeName("if")) {
      NodePtr condition = isLongChain() ? nullptr : binary(0);
      NodePtr other = condition && takeName("else") ? expression() : nullptr;
      if (!condition)
        return nullptr;
      NodePtr whole = make(Node::Kind::Condition, "", std::move(node), std::move(condition));
      whole->children.push_back(std::move(other));
      node = std::move(whole);
    }
    --depth;
    return node;
  }

private:
  static NodePtr make(Node::Kind kind, std::string text, NodePtr first = nullptr, NodePtr second = nullptr) {
    NodePtr node = std::make_unique<Node>(kind, std::move(text));
    if (first)
      node->children.push_back(std::move(first));
    if (second)
      node->children.push_back(std::move(second));
    return node;
  }

  /// The operator of a level at this place, or nothing. Levels from the loosest: or, and, not, comparison, + -, ~, * /.
  std::string operatorAt(unsigned level) const {
    static const std::vector<std::vector<StringRef>> kLevels = {
        {"or"}, {"and"}, {}, {"==", "!=", "<", ">", "<=", ">=", "in"}, {"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
    if (level == 3 && isName("not") && peek(1).kind == Token::Kind::Name && peek(1).text == "in")
      return "not in";
    bool isWord = peek().kind == Token::Kind::Name, isSign = peek().kind == Token::Kind::Operator;
    return (isWord || isSign) && llvm::is_contained(kLevels[level], StringRef(peek().text)) ? peek().text
                                                                                            : std::string();
  }

  NodePtr binary(unsigned level) {
    if (level == 7)
      return unary();
    if (level == 2) {
      if (!takeName("not"))
        return binary(3);
      if (++depth > kMostDepth)
        return nullptr;
      NodePtr operand = binary(2);
      --depth;
      return operand ? make(Node::Kind::Not, "", std::move(operand)) : nullptr;
    }
    NodePtr left = binary(level + 1);
    for (std::string sign; left && !(sign = operatorAt(level)).empty();) {
      position += sign == "not in" ? 2 : 1;
      NodePtr right = isLongChain() ? nullptr : binary(level + 1);
      if (!right)
        return nullptr;
      left = make(Node::Kind::Binary, sign, std::move(left), std::move(right));
    }
    return left;
  }

  NodePtr unary() {
    if (!takeOperator("-"))
      return filters(postfix(primary()));
    if (++depth > kMostDepth)
      return nullptr;
    NodePtr operand = unary();
    --depth;
    return operand ? make(Node::Kind::Negate, "", std::move(operand)) : nullptr;
  }

  NodePtr primary() {
    Token token = peek();
    switch (token.kind) {
    case Token::Kind::Name:
      ++position;
      return make(Node::Kind::Name, token.text);
    case Token::Kind::Integer: {
      ++position;
      NodePtr node = make(Node::Kind::Integer, token.text);
      return StringRef(token.text).getAsInteger(10, node->number) ? nullptr : std::move(node);
    }
    case Token::Kind::String: {
      NodePtr node = make(Node::Kind::String, "");
      for (; peek().kind == Token::Kind::String; ++position)
        node->text += peek().text;
      return node;
    }
    case Token::Kind::Operator:
      if (takeOperator("("))
        return parenthesis();
      if (takeOperator("["))
        return sequence("]");
      return takeOperator("{") ? mapping() : nullptr;
    case Token::Kind::End:
      return nullptr;
    }
    return nullptr;
  }

  NodePtr parenthesis() {
    NodePtr node = expression();
    if (!node || takeOperator(")"))
      return node;
    NodePtr list = make(Node::Kind::List, "", std::move(node));
    while (takeOperator(",") && !isOperator(")")) {
      NodePtr next = expression();
      if (!next)
        return nullptr;
      list->children.push_back(std::move(next));
    }
    return takeOperator(")") ? std::move(list) : nullptr;
  }

  NodePtr sequence(StringRef close) {
    NodePtr list = make(Node::Kind::List, "");
    while (!takeOperator(close)) {
      NodePtr element = expression();
      if (!element || (!isOperator(close) && !takeOperator(",")))
        return nullptr;
      list->children.push_back(std::move(element));
    }
    return list;
  }

  NodePtr mapping() {
    NodePtr map = make(Node::Kind::Map, "");
    while (!takeOperator("}")) {
      NodePtr key = expression();
      NodePtr value = key && takeOperator(":") ? expression() : nullptr;
      if (!value || (!isOperator("}") && !takeOperator(",")))
        return nullptr;
      map->children.push_back(std::move(key));
      map->children.push_back(std::move(value));
    }
    return map;
  }

  NodePtr postfix(NodePtr node) {
    while (node) {
      if (isLongChain())
        return nullptr;
      if (takeOperator(".")) {
        std::string name = takeAnyName();
        node = name.empty() ? nullptr : make(Node::Kind::Member, name, std::move(node));
      } else if (takeOperator("[")) {
        node = subscript(std::move(node));
      } else if (takeOperator("(")) {
        NodePtr call = make(Node::Kind::Call, "", std::move(node));
        node = arguments(*call) ? std::move(call) : nullptr;
      } else {
        break;
      }
    }
    return node;
  }

  NodePtr subscript(NodePtr object) {
    NodePtr parts[3];
    bool isSlice = false;
    for (int i = 0; i < 3; ++i) {
      if (!isOperator(":") && !isOperator("]") && !(parts[i] = expression()))
        return nullptr;
      if (!takeOperator(":"))
        break;
      isSlice = true;
    }
    if (!takeOperator("]") || (!isSlice && !parts[0]))
      return nullptr;
    if (!isSlice)
      return make(Node::Kind::Index, "", std::move(object), std::move(parts[0]));
    NodePtr node = make(Node::Kind::Slice, "", std::move(object));
    for (NodePtr &part : parts)
      node->children.push_back(std::move(part));
    return node;
  }

  /// Behind "(": appends values and names to `call`.
  bool arguments(Node &call) {
    while (!takeOperator(")")) {
      std::string name;
      if (peek().kind == Token::Kind::Name && peek(1).kind == Token::Kind::Operator && peek(1).text == "=") {
        name = takeAnyName();
        ++position;
      }
      NodePtr value = expression();
      if (!value || (!isOperator(")") && !takeOperator(",")))
        return false;
      call.children.push_back(std::move(value));
      call.names.push_back(name);
    }
    return true;
  }

  NodePtr filters(NodePtr node) {
    while (node) {
      if (isLongChain())
        return nullptr;
      if (takeOperator("|")) {
        NodePtr filter = make(Node::Kind::Filter, takeAnyName(), std::move(node));
        bool isRight = !filter->text.empty() && (!takeOperator("(") || arguments(*filter));
        node = isRight ? std::move(filter) : nullptr;
      } else if (takeName("is")) {
        bool isNegated = takeName("not");
        NodePtr test = make(Node::Kind::Test, takeAnyName(), std::move(node));
        bool isRight = !test->text.empty() && (!takeOperator("(") || arguments(*test));
        node = !isRight ? nullptr : isNegated ? make(Node::Kind::Not, "", std::move(test)) : std::move(test);
      } else {
        break;
      }
    }
    return node;
  }

  /// Counts what follows each other without brackets: it nests in the tree, too.
  bool isLongChain() { return ++chain > kMostChain; }

  std::vector<Token> tokens;
  size_t position = 0;
  unsigned depth = 0, chain = 0;
};

//===--- statements -----------------------------------------------------------------------------------------------===//

class TemplateParser {
public:
  explicit TemplateParser(std::vector<Piece> pieces) : pieces(std::move(pieces)) {}

  llvm::Expected<NodePtr> parse() {
    std::string end;
    NodePtr root = body({}, end);
    if (!root)
      return fault("line " + Twine(failedLine) + ": " + failure);
    return std::move(root);
  }

private:
  NodePtr fail(const Piece &piece, const Twine &text) {
    if (failure.empty()) {
      failure = text.str();
      failedLine = piece.line;
    }
    return nullptr;
  }

  /// The first word of a statement.
  static StringRef wordOf(const Piece &piece) {
    StringRef text = StringRef(piece.text).ltrim();
    return text.take_while([](char c) { return isNameStart(c) || llvm::isDigit(c); });
  }

  /// Statements up to one that begins with a word of `ends`, which is not taken; its word goes to `end`.
  NodePtr body(llvm::ArrayRef<StringRef> ends, std::string &end) {
    NodePtr block = std::make_unique<Node>(Node::Kind::Block);
    if (++depth > kMostDepth)
      return fail(pieces[next - 1], "statements are nested too deeply");
    for (; next < pieces.size();) {
      const Piece &piece = pieces[next];
      if (piece.kind == Piece::Kind::Statement && llvm::is_contained(ends, wordOf(piece))) {
        end = wordOf(piece).str();
        --depth;
        return block;
      }
      NodePtr node = one(piece);
      if (!node)
        return nullptr;
      block->children.push_back(std::move(node));
    }
    --depth;
    if (ends.empty())
      return block;
    Piece last = {Piece::Kind::Text, "", pieces.empty() ? 1 : pieces.back().line};
    return fail(last, "expected '" + ends.back() + "' before the end");
  }

  NodePtr one(const Piece &piece) {
    ++next;
    if (piece.kind == Piece::Kind::Text)
      return std::make_unique<Node>(Node::Kind::Text, piece.text);
    std::vector<Token> tokens;
    if (!lex(piece.text, tokens))
      return fail(piece, "expected an expression, but found '" + piece.text + "'");
    ExpressionParser parser(std::move(tokens));
    if (piece.kind == Piece::Kind::Output) {
      NodePtr value = parser.expression();
      if (!value || !parser.isAtEnd())
        return fail(piece, "expected an expression, but found '" + piece.text + "'");
      NodePtr node = std::make_unique<Node>(Node::Kind::Output);
      node->children.push_back(std::move(value));
      return node;
    }
    return statement(piece, parser);
  }

  NodePtr statement(const Piece &piece, ExpressionParser &parser) {
    std::string word = parser.takeAnyName();
    NodePtr node;
    if (word == "if" || word == "elif")
      node = ifStatement(piece, parser);
    else if (word == "for")
      node = forStatement(piece, parser);
    else if (word == "set")
      node = setStatement(piece, parser);
    else if (word == "macro")
      node = macroStatement(piece, parser);
    else if (word == "break" || word == "continue")
      node = std::make_unique<Node>(word == "break" ? Node::Kind::Break : Node::Kind::Continue);
    else if (word == "generation") // marks what a model wrote, for training
      node = closed(piece, "endgeneration");
    else
      return fail(piece, "the statement '" + word + "' is not known");
    return node ? std::move(node) : fail(piece, "expected a statement '" + word + "', but found '" + piece.text + "'");
  }

  /// The body up to `end`, which is taken.
  NodePtr closed(const Piece &piece, StringRef end) {
    std::string found;
    NodePtr block = body({end}, found);
    ++next;
    return block;
  }

  NodePtr ifStatement(const Piece &piece, ExpressionParser &parser) {
    NodePtr node = std::make_unique<Node>(Node::Kind::If);
    NodePtr condition = parser.expression();
    if (!condition || !parser.isAtEnd())
      return nullptr;
    std::string end;
    NodePtr then = body({"elif", "else", "endif"}, end);
    if (!then)
      return nullptr;
    const Piece &stop = pieces[next++];
    NodePtr other;
    if (end == "elif") {
      --next;
      if (++depth > kMostDepth)
        return fail(stop, "statements are nested too deeply");
      other = one(stop);
      --depth;
      if (!other)
        return nullptr;
    } else if (end == "else" && !(other = closed(piece, "endif"))) {
      return nullptr;
    }
    node->children.push_back(std::move(condition));
    node->children.push_back(std::move(then));
    if (other)
      node->children.push_back(std::move(other));
    return node;
  }

  NodePtr forStatement(const Piece &piece, ExpressionParser &parser) {
    NodePtr node = std::make_unique<Node>(Node::Kind::For);
    do
      node->names.push_back(parser.takeAnyName());
    while (parser.takeOperator(","));
    if (node->names.back().empty() || !parser.takeName("in"))
      return nullptr;
    NodePtr list = parser.expression(false), condition;
    if (!list || (parser.takeName("if") && !(condition = parser.expression())) || !parser.isAtEnd())
      return nullptr;
    std::string end;
    NodePtr block = body({"else", "endfor"}, end), other;
    if (!block)
      return nullptr;
    ++next;
    if (end == "else" && !(other = closed(piece, "endfor")))
      return nullptr;
    for (NodePtr *child : {&list, &condition, &block, &other})
      node->children.push_back(std::move(*child));
    return node;
  }

  NodePtr setStatement(const Piece &piece, ExpressionParser &parser) {
    NodePtr node = std::make_unique<Node>(Node::Kind::Set, parser.takeAnyName());
    if (parser.takeOperator("."))
      node->name = parser.takeAnyName();
    NodePtr value;
    if (parser.takeOperator("=")) {
      value = parser.expression();
    } else if (parser.isAtEnd() && node->name.empty()) {
      node->kind = Node::Kind::SetBlock;
      value = closed(piece, "endset");
    }
    if (node->text.empty() || !value || !parser.isAtEnd())
      return nullptr;
    node->children.push_back(std::move(value));
    return node;
  }

  NodePtr macroStatement(const Piece &piece, ExpressionParser &parser) {
    NodePtr node = std::make_unique<Node>(Node::Kind::Macro, parser.takeAnyName());
    if (node->text.empty() || !parser.takeOperator("("))
      return nullptr;
    while (!parser.takeOperator(")")) {
      node->names.push_back(parser.takeAnyName());
      node->children.push_back(parser.takeOperator("=") ? parser.expression() : nullptr);
      if (node->names.back().empty() || (!parser.isOperator(")") && !parser.takeOperator(",")))
        return nullptr;
    }
    NodePtr block = closed(piece, "endmacro");
    if (!block)
      return nullptr;
    node->children.push_back(std::move(block));
    return node;
  }

  std::vector<Piece> pieces;
  size_t next = 0, failedLine = 0;
  unsigned depth = 0;
  std::string failure;
};

} // namespace

llvm::Expected<NodePtr> parseTemplate(StringRef text) {
  // Jinja drops one line end at the end of a template.
  llvm::Expected<std::vector<Piece>> pieces = splitTemplate(text.ends_with("\n") ? text.drop_back() : text);
  if (!pieces)
    return pieces.takeError();
  return TemplateParser(std::move(*pieces)).parse();
}

} // namespace moec::jinja
