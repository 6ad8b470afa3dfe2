// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small table-driven reader of flags. Main source: docs/command-line.md.
#include "lib/Compiler/Flags.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace moec {

llvm::Error readFlags(llvm::ArrayRef<llvm::StringRef> words, llvm::ArrayRef<Flag> flags,
                      std::vector<std::string> &positional) {
  llvm::StringSet<> seen;
  for (size_t index = 0; index < words.size(); ++index) {
    llvm::StringRef word = words[index];
    if (word.size() < 2 || word[0] != '-') {
      positional.push_back(word.str());
      continue;
    }
    auto [name, inlineValue] = word.starts_with("--") ? word.split('=') : std::pair(word, llvm::StringRef());
    const Flag *flag = llvm::find_if(flags, [name = name](const Flag &candidate) { return name == candidate.name; });
    if (flag == flags.end()) {
      std::vector<std::string> known;
      for (const Flag &candidate : flags)
        known.push_back(candidate.name);
      return fault("unknown flag " + name + "; valid flags are " + llvm::join(known, ", "));
    }
    if (!seen.insert(name).second && !flag->isRepeatable)
      return fault(name + " is given twice");
    std::vector<llvm::StringRef> values;
    if (word.contains('=') && word.starts_with("--"))
      values.push_back(inlineValue);
    while (values.size() < flag->numValues && index + 1 < words.size())
      values.push_back(words[++index]);
    if (values.size() != flag->numValues)
      return fault(name + " expects " + llvm::Twine(flag->numValues) + (flag->numValues == 1 ? " value" : " values") +
                   ", but got " + llvm::Twine(values.size()));
    if (llvm::Error error = flag->set(values))
      return fault(name + " " + llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

Flag choice(const char *name, const char *choices, std::string &value) {
  return {name, 1, [choices, &value](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            llvm::SmallVector<llvm::StringRef> valid;
            llvm::StringRef(choices).split(valid, '|');
            if (!llvm::is_contained(valid, values[0]))
              return fault("is '" + values[0] + "', expects one of " + llvm::join(valid, ", "));
            value = values[0].str();
            return llvm::Error::success();
          }};
}

Flag text(const char *name, std::string &value) {
  return {name, 1, [&value](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            if (values[0].empty())
              return fault("expects a value that is not empty");
            value = values[0].str();
            return llvm::Error::success();
          }};
}

Flag number(const char *name, uint64_t smallest, uint64_t largest, std::function<void(uint64_t)> set) {
  return {name, 1, [=](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            uint64_t value = 0;
            if (values[0].getAsInteger(10, value) || value < smallest || value > largest)
              return fault("is '" + values[0] + "', expects a whole number from " + llvm::Twine(smallest) + " to " +
                           llvm::Twine(largest));
            set(value);
            return llvm::Error::success();
          }};
}

Flag share(const char *name, double smallest, std::function<void(double)> set) {
  return {name, 1, [=](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            double value = 0;
            if (values[0].getAsDouble(value) || !(value >= smallest && value <= 1))
              return fault("is '" + values[0] + "', expects a number from " + (smallest > 0 ? "0.01" : "0") + " to 1");
            set(value);
            return llvm::Error::success();
          }};
}

Flag size(const char *name, std::function<void(uint64_t)> set) {
  return {name, 1, [=](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            auto value = parseSize(values[0]);
            if (!value)
              return fault("is '" + values[0] + "': " + llvm::toString(value.takeError()));
            if (*value == 0 || *value > uint64_t(INT64_MAX))
              return fault("is '" + values[0] + "', expects at least one byte and less than 8 EiB");
            set(*value);
            return llvm::Error::success();
          }};
}

Flag flag(const char *name, bool &value) {
  return {name, 0, [&value](llvm::ArrayRef<llvm::StringRef>) -> llvm::Error {
            value = true;
            return llvm::Error::success();
          }};
}

} // namespace moec
