// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names and checks of encodings.
#include "lib/Quant/Encoding.h"

#include <cinttypes>

namespace moec {

static bool isGroup(int64_t group) { return group == 32 || group == 64 || group == 128; }

std::string nameOf(const Encoding &encoding) {
  if (!encoding.isInteger())
    return "f32";
  return (encoding.kind == EncodingKind::i8 ? "i8/" : "i4/") + std::to_string(encoding.group);
}

llvm::Expected<Encoding> parseEncoding(llvm::StringRef text) {
  if (text == "f32")
    return Encoding::f32();
  auto [kind, groupText] = text.split('/');
  int64_t group = 0;
  if ((kind == "i8" || kind == "i4") && !groupText.getAsInteger(10, group) && isGroup(group))
    return kind == "i8" ? Encoding::i8(group) : Encoding::i4(group);
  return llvm::createStringError("expected an encoding f32, i8/G or i4/G with G 32, 64 or 128, but found '" +
                                 text.str() + "'");
}

llvm::Error checkEncoding(const Encoding &encoding, int64_t cols, llvm::StringRef what) {
  if (cols <= 0)
    return llvm::createStringError("'%s' has %" PRId64 " columns, expected at least 1", what.str().c_str(), cols);
  if (!encoding.isInteger())
    return llvm::Error::success();
  if (!isGroup(encoding.group))
    return llvm::createStringError("'%s' has group %" PRId64 ", expected 32, 64 or 128", what.str().c_str(),
                                   encoding.group);
  if (cols % encoding.group)
    return llvm::createStringError("'%s' has %" PRId64 " columns, which group %" PRId64
                                   " does not divide; choose a group that does, or f32",
                                   what.str().c_str(), cols, encoding.group);
  return llvm::Error::success();
}

} // namespace moec
