// SPDX-License-Identifier: Apache-2.0
/// \file
/// .npy files: what is written is read back, files of NumPy are read, broken ones are refused.
#include "lib/Support/Npy.h"
#include "test/unit/Support/TestFolder.h"

using namespace moec;
using namespace moec::test;

static std::string file(llvm::StringRef dictionary, llvm::StringRef data) {
  std::string text = dictionary.str() + "\n";
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(text.size());
  start += '\0';
  return start + text + data.str();
}

TEST(Npy, RowsAreReadBack) {
  TestFolder folder;
  llvm::Expected<NpyWriter> writer = NpyWriter::create(folder.path("a.npy"), 3);
  ASSERT_TRUE(bool(writer)) << llvm::toString(writer.takeError());
  ASSERT_FALSE(bool(writer->writeRow({1, 2, 3})));
  ASSERT_FALSE(bool(writer->writeRow({-0.5f, 1e-40f, 3e38f})));
  EXPECT_TRUE(contains(errorText(writer->writeRow({1})), "has rows of 3 values, but got one of 1"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.npy")));
  ASSERT_FALSE(bool(writer->close()));
  NpyArray array = llvm::cantFail(readNpy(folder.path("a.npy")));
  EXPECT_EQ(array.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(array.values, (std::vector<float>{1, 2, 3, -0.5f, 1e-40f, 3e38f}));
  EXPECT_EQ(std::filesystem::file_size(folder.path("a.npy")), 128u + 24);
  EXPECT_TRUE(contains(folder.read("a.npy"), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
}

TEST(Npy, ReadsOtherTypesAndDimensions) {
  TestFolder folder;
  folder.write("u1", file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 2), }", "\x01\x02\x03\xFF"));
  NpyArray bytes = llvm::cantFail(readNpy(folder.path("u1")));
  EXPECT_EQ(bytes.type, NpyType::UInt8);
  EXPECT_EQ(bytes.shape, (std::vector<uint64_t>{2, 1, 2}));
  EXPECT_EQ(bytes.values, (std::vector<float>{1, 2, 3, 255}));
  folder.write("f2", file("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", llvm::StringRef("\x00\x3C", 2)));
  EXPECT_EQ(llvm::cantFail(readNpy(folder.path("f2"))).values, std::vector<float>{1});
}

TEST(Npy, RefusesOtherFiles) {
  TestFolder folder;
  struct {
    std::string content;
    const char *why;
  } cases[] = {
      {"", "is no .npy file"},
      {"PK zip and more of it", "is no .npy file"},
      {std::string("\x93NUMPY\x01\x00\xFF\xFF{}", 12), "broken .npy header of 65535 bytes"},
      {file("{'descr': '<f4'}", ""), "expects descr, fortran_order and shape"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), "expects descr"},
      {file("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "12345678"), "holds '<i8', expects '<f4'"},
      {file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234"), "column by column"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "1234"), "has 0 dimensions"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1), }", "1234"), "has 4 dimensions"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234567"), "has 7 bytes of values, its "
                                                                                     "shape needs 8"},
      {file("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", ""), "more than 2^64"}};
  for (const auto &one : cases)
    EXPECT_TRUE(contains(errorText(readNpy(folder.write("x.npy", one.content))), one.why));
}
