// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recognition of split patterns. Part of the import step.
#include "lib/Tokenizer/SplitPattern.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

struct KnownPattern {
  moetok_pattern id;
  StringRef text;
};

/// The regexes that runtime/tokenizer/Pretokenize.cpp has by hand. Compared as text: one character of difference is
/// another tokenizer.
constexpr KnownPattern kPatterns[] = {
    {MOETOK_PATTERN_QWEN2, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                           R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {MOETOK_PATTERN_QWEN35, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                            R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {MOETOK_PATTERN_LLAMA3, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                            R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

constexpr NamedPreTokenizer kNamed[] = {
    {"qwen2", MOETOK_PATTERN_QWEN2, true, false},      {"qwen35", MOETOK_PATTERN_QWEN35, true, false},
    {"llama-bpe", MOETOK_PATTERN_LLAMA3, false, true}, {"llama3", MOETOK_PATTERN_LLAMA3, false, true},
    {"llama-v3", MOETOK_PATTERN_LLAMA3, false, true},  {"smollm", MOETOK_PATTERN_SMOLLM, false, false},
    {"gpt-2", MOETOK_PATTERN_GPT2, false, false},      {"olmo", MOETOK_PATTERN_GPT2, true, false},
};

StringRef typeOf(const Json &value) {
  const JsonObject *object = value.asObject();
  const Json *type = object ? object->find("type") : nullptr;
  const std::string *text = type ? type->asString() : nullptr;
  return text ? StringRef(*text) : StringRef();
}

Error expects(const Twine &path, const Twine &what, const Json *found) {
  return fault(path + ": expected " + what + ", but found " + (found ? found->describe() : "nothing"));
}

/// A flag of an object; `byDefault` where it is missing or null.
Expected<bool> flagOf(const JsonObject &object, const Twine &path, StringRef key, bool byDefault) {
  const Json *value = object.find(key);
  if (!value || value->isNull())
    return byDefault;
  if (std::optional<bool> flag = value->asBool())
    return *flag;
  return expects(path + "." + key, "true or false", value);
}

/// Refuses ByteLevel with another `use_regex` or with `add_prefix_space`. Both are true where they are absent.
Error checkByteLevel(const Json &value, const Twine &path, bool usesRegex) {
  const JsonObject &object = *value.asObject();
  Expected<bool> regex = flagOf(object, path, "use_regex", true);
  if (!regex)
    return regex.takeError();
  if (*regex != usesRegex)
    return expects(path + ".use_regex", usesRegex ? "true" : "false", object.find("use_regex"));
  Expected<bool> prefix = flagOf(object, path, "add_prefix_space", true);
  if (!prefix)
    return prefix.takeError();
  return *prefix ? expects(path + ".add_prefix_space", "false", object.find("add_prefix_space")) : Error::success();
}

Expected<moetok_pattern> readSplit(const Json &value, const Twine &path) {
  const JsonObject &split = *value.asObject();
  const Json *pattern = split.find("pattern");
  const JsonObject *object = pattern ? pattern->asObject() : nullptr;
  const Json *regex = object ? object->find("Regex") : nullptr;
  const std::string *text = regex ? regex->asString() : nullptr;
  if (!text)
    return expects(path + ".pattern", "{\"Regex\": ...}", pattern);
  const KnownPattern *known =
      llvm::find_if(kPatterns, [&](const KnownPattern &candidate) { return candidate.text == *text; });
  if (known == std::end(kPatterns))
    return fault(path +
                 ".pattern: expected the split regex of Qwen2 and Qwen3, of Qwen3.5, or of Llama 3, exactly as "
                 "their tokenizer.json has it, but found '" +
                 *text + "'");
  const Json *behavior = split.find("behavior");
  const std::string *name = behavior ? behavior->asString() : nullptr;
  if (!name || *name != "Isolated")
    return expects(path + ".behavior", "\"Isolated\"", behavior);
  Expected<bool> inverted = flagOf(split, path, "invert", false);
  if (!inverted)
    return inverted.takeError();
  if (*inverted)
    return expects(path + ".invert", "false", split.find("invert"));
  return known->id;
}

} // namespace

Expected<moetok_pattern> readPreTokenizer(const Json *value) {
  constexpr StringRef kWhat = "ByteLevel, a Sequence of Digits and ByteLevel, or a Sequence of Split and ByteLevel";
  if (!value || value->isNull())
    return expects("pre_tokenizer", kWhat, value);
  StringRef type = typeOf(*value);
  if (type == "ByteLevel") {
    if (Error error = checkByteLevel(*value, "pre_tokenizer", true))
      return std::move(error);
    return MOETOK_PATTERN_GPT2;
  }
  const Json *list = type == "Sequence" ? value->asObject()->find("pretokenizers") : nullptr;
  const JsonArray *parts = list ? list->asArray() : nullptr;
  if (!parts || parts->size() != 2)
    return expects("pre_tokenizer", kWhat, list ? list : type.empty() ? value : value->asObject()->find("type"));
  std::string first = "pre_tokenizer.pretokenizers[0]", second = "pre_tokenizer.pretokenizers[1]";
  bool hasDigits = typeOf((*parts)[0]) == "Digits";
  if (!hasDigits && typeOf((*parts)[0]) != "Split")
    return expects(first, "a Split or Digits", &(*parts)[0]);
  if (typeOf((*parts)[1]) != "ByteLevel")
    return expects(second, "ByteLevel", &(*parts)[1]);
  if (Error error = checkByteLevel((*parts)[1], second, hasDigits))
    return std::move(error);
  if (!hasDigits)
    return readSplit((*parts)[0], first);
  const JsonObject &digits = *(*parts)[0].asObject();
  Expected<bool> individual = flagOf(digits, first, "individual_digits", false);
  if (!individual)
    return individual.takeError();
  if (!*individual)
    return expects(first + ".individual_digits", "true", digits.find("individual_digits"));
  return MOETOK_PATTERN_SMOLLM;
}

const NamedPreTokenizer *findPreTokenizer(StringRef name) {
  const NamedPreTokenizer *found =
      llvm::find_if(kNamed, [&](const NamedPreTokenizer &candidate) { return candidate.name == name; });
  return found == std::end(kNamed) ? nullptr : found;
}

std::string namesOfPreTokenizers() {
  std::vector<StringRef> names;
  for (const NamedPreTokenizer &named : kNamed)
    names.push_back(named.name);
  return llvm::join(names, ", ");
}

StringRef patternText(moetok_pattern pattern) {
  const KnownPattern *known = llvm::find_if(kPatterns, [&](const KnownPattern &k) { return k.id == pattern; });
  return known == std::end(kPatterns) ? StringRef() : known->text;
}

} // namespace moec
