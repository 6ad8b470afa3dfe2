// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parsing and printing of sizes in integer arithmetic.
#include "lib/Support/Sizes.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>

namespace moec {

namespace {

struct Unit {
  llvm::StringLiteral name;
  uint64_t bytes;
};

constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"KB", 1000},
                           {"MB", 1000ull * 1000},
                           {"GB", 1000ull * 1000 * 1000},
                           {"TB", 1000ull * 1000 * 1000 * 1000},
                           {"KiB", 1ull << 10},
                           {"MiB", 1ull << 20},
                           {"GiB", 1ull << 30},
                           {"TiB", 1ull << 40}};

constexpr llvm::StringLiteral kForms =
    "expects a number and KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024) or no unit for bytes, "
    "for example 10.5GB, 800MiB or 123456";

std::optional<uint64_t> unitBytes(llvm::StringRef name) {
  for (const Unit &unit : kUnits)
    if (name.equals_insensitive(unit.name))
      return unit.bytes;
  return std::nullopt;
}

} // namespace

llvm::Expected<uint64_t> parseSize(llvm::StringRef text) {
  auto refuse = [&](const llvm::Twine &why) { return fault("size '" + text + "' " + why + "; " + kForms); };
  llvm::StringRef rest = text.trim();
  if (rest.starts_with("-"))
    return refuse("is negative");
  llvm::StringRef whole = rest.take_while(llvm::isDigit);
  rest = rest.drop_front(whole.size());
  llvm::StringRef fraction;
  if (rest.starts_with(".")) {
    fraction = rest.drop_front().take_while(llvm::isDigit);
    rest = rest.drop_front(1 + fraction.size());
    if (fraction.empty())
      return refuse("has no digit behind its point");
  }
  if (whole.empty())
    return refuse("does not begin with a digit");
  std::optional<uint64_t> unit = unitBytes(rest.trim());
  if (!unit)
    return refuse("has the unknown unit '" + rest.trim() + "'");
  if (*unit == 1 && !fraction.empty())
    return refuse("is a fraction of bytes");
  // 18 digits: the product with the largest unit stays below 2^128. Later digits are less than a byte.
  if (fraction.size() > 18)
    fraction = fraction.take_front(18);
  unsigned __int128 total = 0;
  for (char digit : whole) {
    total = total * 10 + static_cast<unsigned>(digit - '0');
    if (total > UINT64_MAX)
      return refuse("is 2^64 bytes or more");
  }
  total *= *unit;
  unsigned __int128 numerator = 0, denominator = 1;
  for (char digit : fraction) {
    numerator = numerator * 10 + static_cast<unsigned>(digit - '0');
    denominator *= 10;
  }
  total += numerator * *unit / denominator;
  if (total > UINT64_MAX)
    return refuse("is 2^64 bytes or more");
  return static_cast<uint64_t>(total);
}

std::string formatSize(uint64_t sizeBytes) {
  if (sizeBytes < 1024)
    return std::to_string(sizeBytes) + (sizeBytes == 1 ? " byte" : " bytes");
  constexpr const char *kNames[] = {"KiB", "MiB", "GiB", "TiB"};
  unsigned __int128 tenths = 0;
  unsigned index = 0;
  for (;; ++index) {
    uint64_t unit = 1ull << (10 * (index + 1));
    tenths = (static_cast<unsigned __int128>(sizeBytes) * 10 + unit / 2) / unit;
    // 1023.96 KiB would print as 1024.0 KiB: the next unit reads better.
    if (tenths < 10240 || index == 3)
      break;
  }
  uint64_t value = static_cast<uint64_t>(tenths);
  return std::to_string(value / 10) + "." + std::to_string(value % 10) + " " + kNames[index];
}

std::string formatSizeExact(uint64_t sizeBytes) {
  if (sizeBytes < 1024)
    return formatSize(sizeBytes);
  return std::to_string(sizeBytes) + " bytes (" + formatSize(sizeBytes) + ")";
}

} // namespace moec
