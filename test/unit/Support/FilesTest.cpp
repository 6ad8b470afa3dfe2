// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files: reads are whole or an error; outputs appear whole, together, or not at all.
#include "lib/Support/Files.h"
#include "test/unit/Support/TestFolder.h"

#include <sys/stat.h>

using namespace moec;
using namespace moec::test;

using Names = std::vector<std::string>;

TEST(RandomAccessFile, ReadsByOffset) {
  TestFolder folder;
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(folder.write("a", "0123456789"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->sizeBytes(), 10u);
  uint8_t bytes[4];
  ASSERT_FALSE(bool(file->read(6, bytes)));
  EXPECT_EQ(llvm::StringRef(reinterpret_cast<char *>(bytes), 4), "6789");
  EXPECT_TRUE(contains(errorText(file->read(8, bytes)), "is truncated: found 2 bytes at offset 8, needs 4"));
  EXPECT_TRUE(contains(errorText(file->read(UINT64_MAX, bytes)), "is beyond every file"));
}

TEST(RandomAccessFile, ReadsMoreThanOnePiece) {
  TestFolder folder;
  std::string content(20 << 20, '\0'); // pieces are 8 MiB
  for (size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 2654435761u >> 13);
  std::string path = folder.write("a", content);
  EXPECT_TRUE(llvm::cantFail(readTextFile(path, content.size())) == content);
  EXPECT_TRUE(contains(errorText(readTextFile(path, content.size() - 1)), "expects at most"));
}

TEST(RandomAccessFile, RefusesWhatIsNoFile) {
  TestFolder folder;
  EXPECT_TRUE(contains(errorText(RandomAccessFile::open(folder.path("no"))), "No such file"));
  EXPECT_TRUE(contains(errorText(RandomAccessFile::open(folder.path())), "is a folder, expects a file"));
  EXPECT_TRUE(contains(errorText(RandomAccessFile::open("/dev/null")), "is no regular file"));
}

TEST(OutputFile, AppearsAtCommit) {
  TestFolder folder;
  {
    llvm::Expected<OutputFile> file = OutputFile::create(folder.path("out"));
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_FALSE(bool(file->write("hello ")));
    ASSERT_FALSE(bool(file->write("world")));
    ASSERT_FALSE(bool(file->writeAt(0, {'H'})));
    EXPECT_EQ(file->offsetBytes(), 11u);
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
    ASSERT_FALSE(bool(file->commit()));
    EXPECT_TRUE(contains(errorText(file->write("x")), "is finished"));
    EXPECT_TRUE(contains(errorText(file->commit()), "is committed already"));
  }
  EXPECT_EQ(folder.names(), Names{"out"});
  EXPECT_EQ(folder.read("out"), "Hello world");
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  TestFolder folder;
  folder.write("out", "old");
  {
    llvm::Expected<OutputFile> file = OutputFile::create(folder.path("out"));
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    ASSERT_FALSE(bool(file->write("new")));
    EXPECT_EQ(folder.names().size(), 2u);
  }
  EXPECT_EQ(folder.names(), Names{"out"});
  EXPECT_EQ(folder.read("out"), "old");
}

TEST(OutputFile, RefusesPlacesThatCannotBeWritten) {
  TestFolder folder;
  folder.write("blocker", "a file");
  EXPECT_TRUE(contains(errorText(OutputFile::create(folder.path("no/out"))), folder.path("no") + "' cannot be used"));
  EXPECT_TRUE(contains(errorText(OutputFile::create(folder.path("blocker/out"))), folder.path("blocker")));
  EXPECT_TRUE(contains(errorText(OutputFile::create(folder.path())), "is a folder, expects a file"));
  EXPECT_TRUE(contains(errorText(OutputFile::create(folder.path("out/"))), "has no file name"));
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(errorText(OutputFile::create(folder.path("pipe"))), "is a device or a pipe, expects a file"));
  EXPECT_TRUE(contains(errorText(OutputFile::create("/proc/moec-out")), "cannot write into output folder '/proc'"));
}

static OutputFile *addWith(OutputTransaction &outputs, const std::string &path, llvm::StringRef content) {
  llvm::Expected<OutputFile *> file = outputs.add(path);
  EXPECT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_FALSE(bool((*file)->write(content)));
  return *file;
}

TEST(OutputTransaction, OutputsAppearTogether) {
  TestFolder folder;
  folder.write("a", "old a");
  OutputTransaction outputs;
  addWith(outputs, folder.path("a"), "new a");
  addWith(outputs, folder.path("b"), "new b");
  EXPECT_TRUE(contains(errorText(outputs.add(folder.path("a"))), "is named twice"));
  EXPECT_EQ(folder.read("a"), "old a");
  ASSERT_FALSE(bool(outputs.commit()));
  EXPECT_EQ(folder.names(), (Names{"a", "b"}));
  EXPECT_EQ(folder.read("a"), "new a");
  EXPECT_EQ(folder.read("b"), "new b");
}

TEST(OutputTransaction, RollsBackWhenALaterRenameFails) {
  TestFolder folder;
  folder.write("a", "old a");
  {
    OutputTransaction outputs;
    addWith(outputs, folder.path("a"), "new a");
    addWith(outputs, folder.path("b"), "new b");
    addWith(outputs, folder.path("c"), "new c");
    std::filesystem::create_directory(folder.path("c"));
    EXPECT_TRUE(contains(errorText(outputs.commit()), "c' is a folder"));
  }
  EXPECT_EQ(folder.names(), (Names{"a", "c"}));
  EXPECT_EQ(folder.read("a"), "old a");
}

TEST(OutputTransaction, RollsBackWhenATemporaryFileIsGone) {
  TestFolder folder;
  folder.write("b", "old b");
  {
    OutputTransaction outputs;
    addWith(outputs, folder.path("a"), "new a");
    std::filesystem::remove(addWith(outputs, folder.path("b"), "new b")->temporaryPath());
    EXPECT_TRUE(contains(errorText(outputs.commit()), "No such file"));
  }
  EXPECT_EQ(folder.names(), Names{"b"});
  EXPECT_EQ(folder.read("b"), "old b");
}

TEST(OutputTransaction, TakesWhatALinkerPutAtTheTemporaryPath) {
  TestFolder folder;
  OutputTransaction outputs;
  std::string work = addWith(outputs, folder.path("a.so"), "")->temporaryPath();
  std::filesystem::remove(work);
  std::ofstream(work) << "linked";
  ASSERT_FALSE(bool(outputs.commit()));
  EXPECT_EQ(folder.read("a.so"), "linked");
}
