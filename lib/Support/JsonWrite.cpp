// SPDX-License-Identifier: Apache-2.0
/// \file
/// Deterministic writing of JSON values.
#include "lib/Support/Json.h"

#include "llvm/Support/JSON.h"

#include <charconv>
#include <cmath>

namespace moec {

/// Appends to a text. The depth of what it writes is bounded by the parser or by the program that built the value.
class JsonWriter {
public:
  explicit JsonWriter(unsigned indent) : indent(indent) {}

  void write(const Json &json) {
    std::visit([&](const auto &value) { put(value); }, json.value);
  }

  std::string text;

private:
  void put(std::nullptr_t) { text += "null"; }
  void put(bool flag) { text += flag ? "true" : "false"; }
  void put(int64_t number) { text += std::to_string(number); }
  void put(uint64_t number) { text += std::to_string(number); }

  void put(double number) {
    if (!std::isfinite(number)) {
      text += "null";
      return;
    }
    char digits[32];
    llvm::StringRef shortest(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr - digits);
    text += shortest;
    // It stays a real number when it is read back.
    if (shortest.find_first_of(".e") == llvm::StringRef::npos)
      text += ".0";
  }

  void put(const std::string &raw) {
    std::string fixed;
    if (!llvm::json::isUTF8(raw))
      fixed = llvm::json::fixUTF8(raw);
    text += '"';
    for (char c : fixed.empty() ? raw : fixed)
      putCharacter(c);
    text += '"';
  }

  void putCharacter(char c) {
    constexpr llvm::StringLiteral kHex = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += "\\u00";
      text += kHex[static_cast<unsigned char>(c) >> 4];
      text += kHex[c & 15];
    } else {
      text += c;
    }
  }

  void newLine() {
    if (indent == 0)
      return;
    text += '\n';
    text.append(size_t(indent) * depth, ' ');
  }

  void put(const JsonArray &array) {
    text += '[';
    ++depth;
    for (size_t i = 0; i < array.size(); ++i) {
      if (i != 0)
        text += ',';
      newLine();
      write(array[i]);
    }
    --depth;
    if (!array.empty())
      newLine();
    text += ']';
  }

  void put(const JsonObject &object) {
    text += '{';
    ++depth;
    bool isFirst = true;
    for (const JsonMember &member : object.members()) {
      if (!isFirst)
        text += ',';
      isFirst = false;
      newLine();
      put(member.key);
      text += indent == 0 ? ":" : ": ";
      write(member.value);
    }
    --depth;
    if (object.size() != 0)
      newLine();
    text += '}';
  }

  unsigned indent;
  unsigned depth = 0;
};

std::string writeJson(const Json &value, unsigned indent) {
  JsonWriter writer(indent);
  writer.write(value);
  return std::move(writer.text);
}

} // namespace moec
