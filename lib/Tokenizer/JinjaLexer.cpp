// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cuts templates into pieces and expressions into tokens. Part of the import step.
#include "lib/Tokenizer/JinjaLexer.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using llvm::StringRef;
using llvm::Twine;

namespace moec::jinja {

namespace {

//===--- pieces ---------------------------------------------------------------------------------------------------===//

/// Cuts the template at its marks and removes white space as the marks say.
class Splitter {
public:
  explicit Splitter(StringRef text) : text(text) {}

  llvm::Expected<std::vector<Piece>> split() {
    while (position < text.size()) {
      size_t mark = nextMark();
      std::string plain = text.slice(position, mark).str();
      char kind = mark < text.size() ? text[mark + 1] : '\0';
      char control = mark + 2 < text.size() ? text[mark + 2] : '\0';
      if (trimsNext)
        plain = StringRef(plain).ltrim(" \t\r\n\v\f").str();
      else if (dropsLineEnd && StringRef(plain).starts_with("\n"))
        plain.erase(0, 1);
      if (kind && control == '-')
        plain = StringRef(plain).rtrim(" \t\r\n\v\f").str();
      else if ((kind == '%' || kind == '#') && control != '+')
        stripLine(plain, mark);
      if (!plain.empty())
        pieces.push_back({Piece::Kind::Text, plain, lineOf(position)});
      if (!kind)
        break;
      if (!takeMark(mark, kind))
        return fault("line " + Twine(lineOf(mark)) + ": expected the end of '" + text.substr(mark, 2) + "'");
    }
    return std::move(pieces);
  }

private:
  size_t nextMark() const {
    for (size_t at = text.find('{', position); at != StringRef::npos; at = text.find('{', at + 1))
      if (at + 1 < text.size() && StringRef("{%#").contains(text[at + 1]))
        return at;
    return text.size();
  }

  /// White space between the start of a line and a statement goes.
  void stripLine(std::string &plain, size_t mark) const {
    size_t keep = StringRef(plain).rtrim(" \t").size();
    bool startsLine =
        keep == 0 ? mark - plain.size() == 0 || text[mark - plain.size() - 1] == '\n' : plain[keep - 1] == '\n';
    if (startsLine)
      plain.resize(keep);
  }

  bool takeMark(size_t mark, char kind) {
    StringRef close = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    size_t begin = mark + 2, end = begin;
    if (begin < text.size() && (text[begin] == '-' || text[begin] == '+'))
      ++begin;
    char quote = '\0';
    for (end = begin; end < text.size(); ++end) {
      char c = text[end];
      if (kind != '#' && quote) {
        end += c == '\\';
        quote = c == quote ? '\0' : quote;
      } else if (kind != '#' && (c == '\'' || c == '"')) {
        quote = c;
      } else if (text.substr(end).starts_with(close)) {
        break;
      }
    }
    if (end >= text.size())
      return false;
    char control = text[end - 1];
    trimsNext = control == '-' && end > begin;
    dropsLineEnd = kind != '{' && control != '+';
    size_t stop = end - (end > begin && (control == '-' || control == '+'));
    if (kind != '#')
      pieces.push_back(
          {kind == '{' ? Piece::Kind::Output : Piece::Kind::Statement, text.slice(begin, stop).str(), lineOf(mark)});
    position = end + 2;
    return true;
  }

  /// Places are asked for in about ascending order.
  size_t lineOf(size_t at) {
    if (at < counted)
      return line - text.slice(at, counted).count('\n');
    line += text.slice(counted, at).count('\n');
    counted = at;
    return line;
  }

  StringRef text;
  size_t position = 0, counted = 0, line = 1;
  bool trimsNext = false, dropsLineEnd = false;
  std::vector<Piece> pieces;
};

//===--- tokens of an expression ----------------------------------------------------------------------------------===//

void appendCodePoint(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  } else {
    text += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
             static_cast<char>(0x80 | (code & 0x3F))};
  }
}

/// Reads the string at text[at], a quote; moves `at` behind it.
bool lexString(StringRef text, size_t &at, std::string &out) {
  char quote = text[at++];
  for (; at < text.size() && text[at] != quote; ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at == text.size())
      return false;
    if (size_t digits = text[at] == 'u' ? 4 : text[at] == 'x' ? 2 : 0) {
      uint32_t code = 0;
      if (text.substr(at + 1, digits).getAsInteger(16, code) || at + digits >= text.size())
        return false;
      appendCodePoint(out, code);
      at += digits;
    } else if (text[at] != '\n') {
      out += llvm::StringSwitch<std::string>(text.substr(at, 1))
                 .Case("n", "\n")
                 .Case("t", "\t")
                 .Case("r", "\r")
                 .Cases({"\\", "'", "\""}, text.substr(at, 1).str())
                 .Default("\\" + text.substr(at, 1).str());
    }
  }
  return at++ < text.size();
}

} // namespace

llvm::Expected<std::vector<Piece>> splitTemplate(StringRef text) { return Splitter(text).split(); }

bool lex(StringRef text, std::vector<Token> &tokens) {
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t begin = at;
    if (llvm::isSpace(c)) {
      ++at;
    } else if (isNameStart(c)) {
      while (at < text.size() && (isNameStart(text[at]) || llvm::isDigit(text[at])))
        ++at;
      tokens.push_back({Token::Kind::Name, text.slice(begin, at).str()});
    } else if (llvm::isDigit(c)) {
      while (at < text.size() && llvm::isDigit(text[at]))
        ++at;
      tokens.push_back({Token::Kind::Integer, text.slice(begin, at).str()});
    } else if (c == '\'' || c == '"') {
      std::string content;
      if (!lexString(text, at, content))
        return false;
      tokens.push_back({Token::Kind::String, content});
    } else {
      bool isLong = llvm::is_contained({"==", "!=", "<=", ">=", "//", "**"}, text.substr(at, 2));
      if (!isLong && !StringRef("+-*/%~=<>|.,:()[]{}").contains(c))
        return false;
      at += isLong ? 2 : 1;
      tokens.push_back({Token::Kind::Operator, text.slice(begin, at).str()});
    }
  }
  tokens.push_back({});
  return true;
}

} // namespace moec::jinja
