// SPDX-License-Identifier: Apache-2.0
/// \file
/// The bundled model opens, with the facts that its config states.
#include "lib/Import/Checkpoint.h"
#include "lib/Import/WeightReader.h"

#include "gtest/gtest.h"

using namespace moec;

TEST(DemoCheckpoint, HasTheFactsOfItsConfig) {
  llvm::Expected<Checkpoint> model = Checkpoint::open(MOEC_SOURCE_DIR "/examples/demo-moe");
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  const ModelConfig &config = model->config();
  EXPECT_EQ(config.hiddenSize, 256u);
  EXPECT_EQ(config.numLayers, 4u);
  EXPECT_EQ(config.numHeads, 8u);
  EXPECT_EQ(config.numKvHeads, 2u);
  EXPECT_EQ(config.headDim, 32u);
  EXPECT_EQ(config.moeIntermediateSize, 128u);
  EXPECT_EQ(config.numExperts, 16u);
  EXPECT_EQ(config.topK, 4u);
  EXPECT_TRUE(config.normTopkProb);
  EXPECT_EQ(config.vocabSize, 2048u);
  EXPECT_EQ(config.maxPositionEmbeddings, 1024u);
  EXPECT_EQ(config.rmsNormEps, 1e-6);
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_EQ(config.eosIds, std::vector<uint32_t>{2045});
  EXPECT_EQ(model->generation().eosIds, (std::vector<uint32_t>{2045, 2047}));
  EXPECT_EQ(model->generation().temperature, 0.8);
  EXPECT_EQ(model->generation().topK, 40u);
  EXPECT_EQ(model->generation().topP, 0.95);
  // embedding, norm, head; per layer 9 tensors and 16 experts of 3
  EXPECT_EQ(model->tensors().size(), 3u + 4 * (9 + 16 * 3));
  ASSERT_EQ(model->files().size(), 4u);
  EXPECT_EQ(model->files().back().name, "model.safetensors");
  EXPECT_EQ(model->files().back().sizeBytes, 16055224u);
  llvm::Expected<Digest128> hash = model->fileHash(3), again = model->fileHash(3);
  ASSERT_TRUE(bool(hash) && bool(again));
  EXPECT_TRUE(*hash == *again);
}

TEST(DemoCheckpoint, WeightsAreFiniteAndSmall) {
  llvm::Expected<Checkpoint> model = Checkpoint::open(MOEC_SOURCE_DIR "/examples/demo-moe");
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  const CheckpointTensor *tensor = model->find("model.layers.0.mlp.gate.weight");
  ASSERT_NE(tensor, nullptr);
  llvm::Expected<std::vector<float>> values =
      readWeight(model->files()[tensor->fileIndex].path, tensor->type, tensor->offsetBytes, 16, 256);
  ASSERT_TRUE(bool(values)) << llvm::toString(values.takeError());
  for (float value : *values)
    EXPECT_LT(std::abs(value), 4.0f);
}
