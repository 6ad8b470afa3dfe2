// SPDX-License-Identifier: Apache-2.0
/// \file
/// One pass over the text of a module, without strings and comments.
#include "lib/Support/ModuleText.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/StringExtras.h"

namespace moec {

namespace {

class Scanner {
public:
  Scanner(llvm::StringRef text, llvm::StringRef name) : text(text), name(name) {}

  llvm::Error run() {
    while (skipBlank(), at < text.size()) {
      if (text[at] == '"')
        skipString();
      else if (llvm::isAlpha(text[at]))
        readWord();
      else
        readSign(text[at++]);
      if (!problem.empty())
        return fault(name + ":" + llvm::Twine(text.take_front(at).count('\n') + 1) + ": " + problem);
    }
    return llvm::Error::success();
  }

private:
  void skipBlank() {
    for (; at < text.size(); ++at) {
      if (text.substr(at, 2) == "//")
        at = std::min(text.find('\n', at), text.size() - 1);
      else if (!llvm::isSpace(text[at]))
        return;
    }
  }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    at = std::min(at + 1, text.size());
    state = 0;
  }

  /// `array < index` is three tokens; `state` counts those seen.
  void readWord() {
    llvm::StringRef word =
        text.drop_front(at).take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; });
    at += word.size();
    numSigns = 0;
    if (state == 2 && word == "index")
      problem = "array<index> is not supported, use array<i64>";
    state = word == "array";
  }

  void readSign(char sign) {
    state = state == 1 && sign == '<' ? 2 : 0;
    numSigns = sign == '-' ? numSigns + 1 : 0;
    bool isArrow = sign == '>' && at >= 2 && text[at - 2] == '-';
    bool isComparison = sign == '>' && text.substr(at, 1) == "=";
    if (llvm::StringRef("([{<").contains(sign))
      ++depth;
    else if (llvm::StringRef(")]}>").contains(sign) && depth && !isArrow && !isComparison)
      --depth;
    if (depth > kMaxModuleDepth || numSigns > kMaxModuleDepth)
      problem = ("is nested deeper than " + llvm::Twine(kMaxModuleDepth) + " levels").str();
  }

  llvm::StringRef text, name;
  size_t at = 0;
  unsigned depth = 0, numSigns = 0, state = 0;
  std::string problem;
};

} // namespace

llvm::Error checkModuleText(llvm::StringRef text, llvm::StringRef name) { return Scanner(text, name).run(); }

} // namespace moec
