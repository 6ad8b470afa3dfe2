// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tests of the libraries share: a folder that vanishes, files with given content, and texts of errors.
#ifndef TEST_UNIT_SUPPORT_TESTFOLDER_H
#define TEST_UNIT_SUPPORT_TESTFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace moec::test {

/// A new empty folder, removed with all that is in it.
class TestFolder {
public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moec-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  ~TestFolder() { std::filesystem::remove_all(root); }
  TestFolder(const TestFolder &) = delete;

  std::string path(llvm::StringRef name = "") const { return name.empty() ? root : root + "/" + name.str(); }

  std::string write(llvm::StringRef name, llvm::StringRef content) const {
    std::ofstream(path(name), std::ios::binary) << content.str();
    return path(name);
  }

  std::string read(llvm::StringRef name) const {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  /// All names in it, sorted; hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(root))
      result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  std::string root;
};

/// The message of a failed result; a note in its place if it did not fail.
template <typename T> std::string errorText(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}
inline std::string errorText(llvm::Error error) { return error ? llvm::toString(std::move(error)) : "no error"; }

inline ::testing::AssertionResult contains(llvm::StringRef text, llvm::StringRef part) {
  if (text.contains(part))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text.str() << "' does not contain '" << part.str() << "'";
}

} // namespace moec::test
#endif
