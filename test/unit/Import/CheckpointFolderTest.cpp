// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checkpoints that are not read are refused by name, with what to download instead.
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

static const char *const kDownload = "download the bf16 safetensors checkpoint of the model";

TEST(CheckpointFolder, PathsThatAreNoFolder) {
  TestFolder folder;
  EXPECT_TRUE(contains(errorText(Checkpoint::open(folder.path("no"))), "cannot be opened: No such file"));
  std::string gguf = errorText(Checkpoint::open(folder.write("m-Q4_K_M.gguf", "GGUF")));
  EXPECT_TRUE(contains(gguf, "m-Q4_K_M.gguf is truncated: found 4 bytes"));
  EXPECT_TRUE(contains(errorText(Checkpoint::open(folder.write("m.bin", "x"))), "is a file, expects a folder"));
}

TEST(CheckpointFolder, FoldersWithoutConfig) {
  TestFolder folder;
  EXPECT_TRUE(contains(errorText(Checkpoint::open(folder.path())), "has no config.json; " + std::string(kDownload)));
  folder.write("model.gguf", "GGUF");
  EXPECT_TRUE(contains(errorText(Checkpoint::open(folder.path())), "; give the gguf file itself"));
}

TEST(CheckpointFolder, OtherWeightFilesAreNamed) {
  struct {
    const char *name, *why;
  } cases[] = {{"model.gguf", "has 'model.gguf' and no model.safetensors; give the gguf file itself"},
               {"pytorch_model.bin", "has 'pytorch_model.bin' and no model.safetensors; PyTorch pickle files"},
               {"pytorch_model-00001-of-00002.bin", "PyTorch pickle files are not read"},
               {"consolidated.00.pth", "original consolidated weights are not supported"},
               {"consolidated.safetensors", "original consolidated weights are not supported"},
               {"weights.pth", "has 'weights.pth'"},
               {"model.onnx", "ONNX files are not supported"}};
  for (const auto &one : cases) {
    TinyCheckpoint model;
    model.writeConfigs();
    model.folder.write(one.name, "x");
    EXPECT_TRUE(contains(model.error(), one.why));
    EXPECT_TRUE(contains(model.error(), kDownload));
  }
}

TEST(CheckpointFolder, DownloadsThatHaveNotEnded) {
  for (const char *name : {"model.safetensors.incomplete", "model.safetensors.part", "x.aria2"}) {
    TinyCheckpoint model;
    model.write();
    model.folder.write(name, "x");
    EXPECT_TRUE(contains(model.error(), "is an incomplete download: '" + std::string(name) + "' has not ended"));
  }
  TinyCheckpoint empty, shards;
  empty.writeConfigs();
  EXPECT_TRUE(contains(empty.error(), "has no weights, expects model.safetensors or model.safetensors.index.json"));
  shards.writeShards();
  std::filesystem::remove(shards.folder.path("model.safetensors.index.json"));
  shards.folder.write("model-00001-of-00002.safetensors", "x");
  EXPECT_TRUE(contains(shards.error(), "has 'model-00001-of-00002.safetensors' but no model.safetensors.index.json"));
}

TEST(CheckpointFolder, TokenizerMustBeThere) {
  TinyCheckpoint model;
  model.write();
  std::filesystem::remove(model.folder.path("tokenizer.json"));
  EXPECT_TRUE(contains(model.error(), "has no tokenizer.json; download it"));
}

TEST(CheckpointFolder, LfsPointersAreToldApartInEveryFile) {
  std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 16055224\n";
  for (const char *name : {"model.safetensors", "tokenizer.json", "config.json"}) {
    TinyCheckpoint model;
    model.write();
    model.folder.write(name, pointer);
    EXPECT_TRUE(contains(model.error(), std::string(name) + " is a Git LFS pointer"));
  }
}
