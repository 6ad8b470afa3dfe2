// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names and checks of encodings.
#include "lib/Quant/Encoding.h"

#include "llvm/ADT/Twine.h"

#include <cinttypes>

namespace moec {

static bool isGroup(int64_t group) { return group == 32 || group == 64 || group == 128; }

namespace {
struct NamedKind {
  llvm::StringLiteral name;
  EncodingKind kind;
  bool minimum;
};
} // namespace

static constexpr NamedKind kKinds[] = {{"f32", EncodingKind::f32, false}, {"f16", EncodingKind::f16, false},
                                       {"i8", EncodingKind::i8, false},   {"i6", EncodingKind::i6, false},
                                       {"i4", EncodingKind::i4, false},   {"i8m", EncodingKind::i8, true},
                                       {"i4m", EncodingKind::i4, true}};

std::string nameOf(const Encoding &encoding) {
  for (const NamedKind &named : kKinds)
    if (named.kind == encoding.kind && named.minimum == encoding.minimum)
      return encoding.isInteger() ? (named.name + "/" + llvm::Twine(encoding.group)).str() : named.name.str();
  return "unknown"; // a minimum with another kind, which no checked encoding has
}

llvm::Expected<Encoding> parseEncoding(llvm::StringRef text) {
  auto [name, groupText] = text.split('/');
  for (const NamedKind &named : kKinds) {
    if (named.name != name)
      continue;
    Encoding encoding{named.kind, 0, named.minimum};
    bool isSound = encoding.isInteger() ? !groupText.getAsInteger(10, encoding.group) && isGroup(encoding.group)
                                        : name.size() == text.size();
    if (isSound)
      return encoding;
  }
  return llvm::createStringError(
      "expected an encoding f32, f16, i8/G, i6/G, i4/G, i8m/G or i4m/G with G 32, 64 or 128, but found '" + text.str() +
      "'");
}

llvm::Error checkEncoding(const Encoding &encoding, int64_t cols, llvm::StringRef what) {
  if (cols <= 0)
    return llvm::createStringError("'%s' has %" PRId64 " columns, expected at least 1", what.str().c_str(), cols);
  if (!encoding.isInteger())
    return llvm::Error::success();
  if (encoding.minimum && encoding.kind != EncodingKind::i8 && encoding.kind != EncodingKind::i4)
    return llvm::createStringError("'%s' has a minimum, expected that with 8 and 4 bits only", what.str().c_str());
  if (!isGroup(encoding.group))
    return llvm::createStringError("'%s' has group %" PRId64 ", expected 32, 64 or 128", what.str().c_str(),
                                   encoding.group);
  if (cols % encoding.group)
    return llvm::createStringError("'%s' has %" PRId64 " columns, which group %" PRId64
                                   " does not divide; choose a group that does, or f16",
                                   what.str().c_str(), cols, encoding.group);
  return llvm::Error::success();
}

} // namespace moec
