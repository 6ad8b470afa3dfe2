// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pieces of a template and tokens of its expressions. Part of the import step. Main source: as Jinja.h.
#ifndef LIB_TOKENIZER_JINJALEXER_H
#define LIB_TOKENIZER_JINJALEXER_H

#include "lib/Tokenizer/Jinja.h"

#include "llvm/ADT/StringExtras.h"

namespace moec::jinja {

struct Token {
  enum class Kind { Name, String, Integer, Operator, End } kind = Kind::End;
  std::string text;
};

/// A piece of the template: plain text, an output or a statement.
struct Piece {
  enum class Kind { Text, Output, Statement } kind;
  std::string text;
  size_t line;
};

inline bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }

/// Cuts the template at its marks and removes white space as the marks say. Errors: a mark without its end.
llvm::Expected<std::vector<Piece>> splitTemplate(llvm::StringRef text);

/// Appends the tokens of an expression or statement and an end; false for what is none.
bool lex(llvm::StringRef text, std::vector<Token> &tokens);

} // namespace moec::jinja
#endif
