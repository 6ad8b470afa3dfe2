// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generated files are safetensors files that the importer reads, in shards of the size asked for, and appear whole.
#include "lib/Import/Checkpoint.h"
#include "lib/Import/Safetensors.h"
#include "lib/Import/WeightReader.h"
#include "lib/Synth/ByteTokenizer.h"
#include "lib/Synth/CheckpointFolder.h"
#include "lib/Tokenizer/TokenizerJson.h"
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

namespace {

std::vector<RandomCheckpointTensor> sampleTensors() {
  std::vector<RandomCheckpointTensor> tensors(3);
  tensors[0].name = "a", tensors[0].shape = {40, 10};
  tensors[1].name = "norm", tensors[1].shape = {9};
  tensors[2].name = "b", tensors[2].shape = {3, 7};
  return tensors;
}

RandomModel tinyModel() {
  RandomModel model;
  model.name = "tiny";
  model.config = writeJson(tinyConfig("vocab_size", 300));
  model.configName = "config.json";
  model.seed = 3;
  return model;
}

const TextFile kConfig = {"config.json", writeJson(tinyConfig("vocab_size", 300))};

} // namespace

TEST(RandomCheckpoint, ShardsHoldWholeTensors) {
  for (auto [shardBytes, numFiles] : {std::pair<uint64_t, size_t>(kDefaultShardBytes, 1), {1, 3}, {818, 2}}) {
    auto checkpoint = RandomCheckpoint::plan(3, RandomType::BF16, shardBytes, sampleTensors());
    ASSERT_TRUE(bool(checkpoint)) << llvm::toString(checkpoint.takeError());
    ASSERT_EQ(checkpoint->files().size(), numFiles);
    EXPECT_EQ(checkpoint->files()[0].name,
              numFiles == 1 ? "model.safetensors" : "model-00001-of-0000" + std::to_string(numFiles) + ".safetensors");
    TestFolder folder;
    std::string target = folder.path("out");
    ASSERT_EQ(errorText(writeCheckpointFolder(*checkpoint, {kConfig}, target)), "no error");
    std::vector<Digest128> hashes = checkpoint->hashes(2);
    for (auto [index, file] : llvm::enumerate(checkpoint->files())) {
      EXPECT_EQ(hashes[index], llvm::cantFail(hashFile(target + "/" + file.name)));
      auto read = SafetensorsFile::open(target + "/" + file.name, file.name);
      ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
      EXPECT_EQ(read->file().sizeBytes(), file.sizeBytes);
      for (const SafetensorsEntry &entry : read->entries()) {
        uint64_t rows = entry.shape.size() == 1 ? 1 : entry.shape[0];
        std::vector<float> values(rows * entry.shape.back());
        RandomTensor::ofShape(3, entry.name, entry.shape).values(RandomType::BF16, 0, values);
        EXPECT_EQ(llvm::cantFail(readWeight(target + "/" + file.name, TensorType::BF16, entry.offsetBytes, rows,
                                            entry.shape.back())),
                  values);
      }
    }
  }
}

TEST(RandomCheckpoint, RefusesWhatCannotBe) {
  auto planOne = [](std::vector<uint64_t> shape) {
    std::vector<RandomCheckpointTensor> tensors(1);
    tensors[0].name = "w", tensors[0].shape = std::move(shape);
    return errorText(RandomCheckpoint::plan(0, RandomType::BF16, kDefaultShardBytes, std::move(tensors)));
  };
  EXPECT_TRUE(contains(planOne({}), "has 0 dimensions, expects one to three"));
  EXPECT_TRUE(contains(planOne({1, 2, 3, 4}), "has 4 dimensions"));
  EXPECT_TRUE(contains(planOne({0}), "expects between 1 value and"));
  EXPECT_TRUE(contains(planOne({uint64_t(1) << 40, uint64_t(1) << 40}), "expects between 1 value and"));
  EXPECT_TRUE(contains(planOne({uint64_t(1) << 40, 8}), "would exceed 8.0 TiB"));
  EXPECT_TRUE(contains(errorText(RandomCheckpoint::plan(0, RandomType::BF16, 1, {})), "of 0 tensors"));
}

TEST(RandomCheckpoint, FolderAppearsWholeOrNotAtAll) {
  auto checkpoint = llvm::cantFail(RandomCheckpoint::plan(3, RandomType::F32, 1, sampleTensors()));
  TestFolder folder;
  folder.write("file", "x");
  EXPECT_TRUE(contains(errorText(writeCheckpointFolder(checkpoint, {}, folder.path())), "not empty: it holds 'file'"));
  EXPECT_TRUE(contains(errorText(writeCheckpointFolder(checkpoint, {}, folder.path("file"))), "is a file"));
  EXPECT_TRUE(contains(errorText(writeCheckpointFolder(checkpoint, {}, folder.path("file/x"))), "cannot be used"));
  EXPECT_TRUE(contains(errorText(writeCheckpointFolder(checkpoint, {}, folder.path("no/x"))), "cannot be used"));
  // A text with an impossible name stands for every failure in the middle.
  EXPECT_NE(errorText(writeCheckpointFolder(checkpoint, {{"no/such", ""}}, folder.path("out"))), "no error");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_EQ(errorText(writeCheckpointFolder(checkpoint, {}, folder.path("empty/"))), "no error");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"empty", "file"}));
}

TEST(RandomCheckpoint, GeneratedCheckpointEqualsTheWrittenOne) {
  auto generated = Checkpoint::random(tinyModel());
  ASSERT_TRUE(bool(generated)) << llvm::toString(generated.takeError());
  TestFolder folder;
  const TextFile texts[] = {kConfig, {"tokenizer.json", llvm::cantFail(byteTokenizerJson(300))}};
  ASSERT_EQ(errorText(writeCheckpointFolder(*generated->generated(), texts, folder.path("tiny"))), "no error");
  auto written = Checkpoint::open(folder.path("tiny"));
  ASSERT_TRUE(bool(written)) << llvm::toString(written.takeError());
  ASSERT_EQ(generated->tensors().size(), written->tensors().size());
  for (auto [a, b] : llvm::zip_equal(generated->tensors(), written->tensors())) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.offsetBytes, b.offsetBytes);
    EXPECT_EQ(llvm::cantFail(generated->fileHash(a.fileIndex)), llvm::cantFail(written->fileHash(b.fileIndex)));
  }
  EXPECT_EQ(generated->files()[0].kind, kByteTokenizerKind);
  EXPECT_EQ(generated->files()[1].kind, "random:3");
}

TEST(RandomCheckpoint, RefusesConfigs) {
  RandomModel model = tinyModel();
  model.config = writeJson(tinyConfig("num_experts", 0));
  EXPECT_TRUE(contains(errorText(Checkpoint::random(model)), "config.json: num_experts is 0"));
  model.config = writeJson(tinyConfig());
  EXPECT_TRUE(contains(errorText(Checkpoint::random(model)), "vocab_size is 16, expects at least 256"));
  Json wide = tinyConfig("num_experts", 4096);
  wide.asObject()->set("num_hidden_layers", 1024);
  model.config = writeJson(wide);
  model.tokenizer = "/dev/null";
  EXPECT_TRUE(contains(errorText(Checkpoint::random(model)), "no regular file"));
}

TEST(ByteTokenizer, EveryByteIsItsOwnToken) {
  std::string text = llvm::cantFail(byteTokenizerJson(256));
  auto model = readTokenizerJson(text, "tokenizer.json", 256);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  ASSERT_EQ(model->tokens.size(), 256u);
  for (unsigned byte = 0; byte < 256; ++byte)
    EXPECT_EQ(model->tokens[byte], std::string(1, static_cast<char>(byte)));
  EXPECT_TRUE(contains(errorText(byteTokenizerJson(255)), "vocab_size is 255, expects at least 256"));
}
