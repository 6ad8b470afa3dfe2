// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checkpoint folders: whole ones open; missing, doubled and contradicting parts are named.
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

TEST(Checkpoint, OpensSingleAndSharded) {
  TinyCheckpoint single, sharded;
  single.write();
  sharded.writeShards();
  llvm::Expected<Checkpoint> a = Checkpoint::open(single.folder.path());
  llvm::Expected<Checkpoint> b = Checkpoint::open(sharded.folder.path());
  ASSERT_TRUE(bool(a)) << llvm::toString(a.takeError());
  ASSERT_TRUE(bool(b)) << llvm::toString(b.takeError());
  ASSERT_EQ(a->tensors().size(), b->tensors().size());
  for (size_t i = 0; i < a->tensors().size(); ++i) {
    EXPECT_EQ(a->tensors()[i].name, b->tensors()[i].name);
    EXPECT_EQ(a->tensors()[i].shape, b->tensors()[i].shape);
  }
  std::vector<std::string> names;
  for (const CheckpointFile &file : b->files())
    names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"config.json", "tokenizer.json", "model.safetensors.index.json",
                                             "a.safetensors", "b.safetensors"}));
  EXPECT_EQ(a->generation().temperature, 0);
  EXPECT_EQ(a->find("no such tensor"), nullptr);
}

TEST(Checkpoint, HashesFilesWhenAsked) {
  TinyCheckpoint model;
  model.write();
  llvm::Expected<Checkpoint> open = Checkpoint::open(model.folder.path() + "/");
  ASSERT_TRUE(bool(open)) << llvm::toString(open.takeError());
  EXPECT_TRUE(llvm::cantFail(open->fileHash(1)) == hash128(llvm::arrayRefFromStringRef("{}")));
}

TEST(Checkpoint, MissingTensorsAreNamed) {
  for (const char *name : {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight",
                           "model.layers.0.mlp.experts.1.up_proj.weight", "model.layers.0.self_attn.q_norm.weight"}) {
    TinyCheckpoint model;
    model.remove(name);
    model.write();
    EXPECT_TRUE(contains(model.error(), std::string("tensor '") + name + "' is missing, expects the shape ["));
  }
}

TEST(Checkpoint, WrongTensorsAreNamed) {
  TinyCheckpoint shape, type, bias, vocabulary;
  TinyTensor &gate = shape.find("model.layers.0.mlp.gate.weight");
  gate.shape = {1, 8};
  gate.data.resize(16);
  shape.write();
  EXPECT_EQ(shape.error(), "tensor 'model.layers.0.mlp.gate.weight' has the shape [1, 8], expects [2, 8] as "
                           "config.json says");
  TinyTensor &query = type.find("model.layers.0.self_attn.q_proj.weight");
  query.type = "F8_E4M3";
  query.data.resize(64);
  type.write();
  EXPECT_TRUE(contains(type.error(), "q_proj.weight' has dtype F8_E4M3, expects F32, F16 or BF16"));
  bias.tensors.push_back({"model.layers.0.self_attn.q_proj.bias", "BF16", {8}, std::string(16, '\0')});
  bias.write();
  EXPECT_EQ(bias.error(), "tensor 'model.layers.0.self_attn.q_proj.bias' [8] is not expected in a qwen3_moe checkpoint "
                          "of 1 layers and 2 experts, and 'model.layers.0.self_attn.q_proj' would compute something "
                          "else with it");
  vocabulary.config = tinyConfig("vocab_size", 17);
  vocabulary.write();
  EXPECT_EQ(vocabulary.error(),
            "tensor 'model.embed_tokens.weight' has 16 rows, expects 17 (vocab_size of config.json)");
}

TEST(Checkpoint, TensorsOfNoModuleAreLeftOut) {
  TinyCheckpoint model;
  model.tensors.push_back({"model.layers.1.extra", "I64", {1}, "abcdefgh"});
  model.tensors.push_back({"model.layers.2.extra", "BF16", {2}, "abcd"});
  model.write();
  std::string text = "tensor 'model.layers.1.extra' [1] and 1 more are not expected in a qwen3_moe checkpoint of 1 "
                     "layers and 2 experts and left out";
  llvm::Expected<Checkpoint> open = Checkpoint::open(model.folder.path());
  ASSERT_TRUE(bool(open)) << llvm::toString(open.takeError());
  EXPECT_EQ(open->warnings(), llvm::ArrayRef<std::string>(text));
  EXPECT_EQ(errorText(Checkpoint::open(model.folder.path(), /*isStrict=*/true)), text + "; refused by --strict");
}

TEST(Checkpoint, FourCasesOfATiedHead) {
  auto open = [](TinyCheckpoint &model) {
    model.write();
    return Checkpoint::open(model.folder.path());
  };
  TinyCheckpoint tied, other, untied;
  tied.config = other.config = tinyConfig("tie_word_embeddings", true);
  // A copy of the embedding says nothing new; a head that is missing is what the flag means.
  for (int i = 0; i < 2; ++i) {
    llvm::Expected<Checkpoint> model = open(tied);
    ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
    EXPECT_TRUE(model->config().tieWordEmbeddings && model->warnings().empty() && !model->find("lm_head.weight"));
    tied.remove("lm_head.weight");
  }
  other.find("lm_head.weight").data[3] = 0;
  llvm::Expected<Checkpoint> model = open(other);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_TRUE(!model->config().tieWordEmbeddings && model->find("lm_head.weight"));
  EXPECT_EQ(model->warnings().front(), "tensor 'lm_head.weight' differs from 'model.embed_tokens.weight', but "
                                       "config.json says tie_word_embeddings true; the stored head is used");
  untied.remove("lm_head.weight");
  untied.write();
  EXPECT_TRUE(contains(untied.error(), "tensor 'lm_head.weight' is missing, expects the shape [16, 8]; without it "
                                       "config.json must say tie_word_embeddings true"));
}

TEST(Checkpoint, ShardsMustAllBeThere) {
  TinyCheckpoint model;
  model.writeShards();
  std::filesystem::remove(model.folder.path("b.safetensors"));
  EXPECT_TRUE(contains(model.error(), "'b.safetensors' is missing in '" + model.folder.path()));
  EXPECT_TRUE(contains(model.error(), "the download is incomplete"));
}

TEST(Checkpoint, TensorsInTwoShardsAreRefused) {
  TinyCheckpoint model;
  model.writeShards();
  llvm::ArrayRef<TinyTensor> all(model.tensors);
  std::vector<TinyTensor> more = all.take_front(all.size() / 2).vec();
  more.push_back(all.back());
  model.folder.write("a.safetensors", safetensorsBytes(more));
  EXPECT_EQ(model.error(), "tensor 'lm_head.weight' is duplicate: both 'a.safetensors' and 'b.safetensors' hold it");
}

TEST(Checkpoint, IndexAndShardsMustAgree) {
  TinyCheckpoint model;
  model.writeShards();
  JsonObject map;
  size_t half = model.tensors.size() / 2;
  for (size_t i = 0; i < model.tensors.size(); ++i)
    map.set(model.tensors[i].name, i < half ? "a.safetensors" : "b.safetensors");
  JsonObject moved = map, more = map, fewer;
  moved.set("lm_head.weight", "a.safetensors");
  model.writeIndex(moved);
  EXPECT_TRUE(contains(model.error(), "tensor 'lm_head.weight' is missing in 'a.safetensors'"));
  EXPECT_TRUE(contains(model.error(), "it is in 'b.safetensors'"));
  more.set("phantom", "a.safetensors");
  model.writeIndex(more);
  EXPECT_TRUE(contains(model.error(), "tensor 'phantom' is missing in 'a.safetensors'"));
  for (const JsonMember &member : map.members())
    if (member.key != "lm_head.weight")
      fewer.set(member.key, member.value);
  model.writeIndex(fewer);
  EXPECT_TRUE(contains(model.error(), "tensor 'lm_head.weight' is in 'b.safetensors', but "));
  for (const char *path : {"../a.safetensors", "/etc/passwd", "x/a.safetensors", "..", ""}) {
    JsonObject outside = map;
    outside.set("lm_head.weight", path);
    model.writeIndex(outside);
    EXPECT_TRUE(contains(model.error(), "weight_map.lm_head.weight is \"" + std::string(path) +
                                            "\", expects the name of a file in the same folder"));
  }
  model.writeIndex({});
  EXPECT_TRUE(contains(model.error(), "weight_map is empty"));
}

TEST(Checkpoint, BrokenFilesAreNamed) {
  TinyCheckpoint model;
  model.write();
  std::string weights = model.folder.read("model.safetensors"), config = model.folder.read("config.json");
  model.folder.write("model.safetensors", llvm::StringRef(weights).drop_back(1));
  EXPECT_TRUE(contains(model.error(), "model.safetensors is truncated: found " + std::to_string(weights.size() - 1)));
  model.folder.write("model.safetensors", weights);
  model.folder.write("generation_config.json", "{\"eos_token_id\": 99}");
  EXPECT_TRUE(contains(model.error(), "generation_config.json: eos_token_id is 99"));
  std::filesystem::remove(model.folder.path("generation_config.json"));
  model.folder.write("config.json", llvm::StringRef(config).drop_back(40));
  EXPECT_TRUE(contains(model.error(), "config.json: parse error"));
}
