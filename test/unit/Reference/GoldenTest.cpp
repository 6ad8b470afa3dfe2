// SPDX-License-Identifier: Apache-2.0
/// \file
/// The interpreter agrees with an independent implementation on the demonstration model: logits and greedy tokens.
#include "lib/Import/GraphBuilder.h"
#include "lib/Reference/Session.h"
#include "lib/Support/Json.h"
#include "lib/Support/Npy.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace moec;

namespace {

/// Largest difference in float32 logits that the contract allows; two independent engines agree within 1e-5.
constexpr float kTolerance = 2e-4f;

std::string sourcePath(const std::string &path) {
  const char *root = std::getenv("MOEC_SOURCE");
  return std::string(root ? root : ".") + "/" + path;
}

std::vector<int32_t> idsOf(const Json &prompt, const char *key) {
  std::vector<int32_t> ids;
  for (const Json &id : *prompt.asObject()->find(key)->asArray())
    ids.push_back(static_cast<int32_t>(*id.asInt64()));
  return ids;
}

class GoldenTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto checkpoint = Checkpoint::open(sourcePath("examples/demo-moe"));
    ASSERT_TRUE(bool(checkpoint)) << toString(checkpoint.takeError());
    auto built = buildModelModule(context, *checkpoint);
    ASSERT_TRUE(bool(built)) << toString(built.takeError());
    module = std::move(*built);
    auto created = Interpreter::create(*module);
    ASSERT_TRUE(bool(created)) << toString(created.takeError());
    interpreter = std::make_unique<Interpreter>(std::move(*created));
    auto parsed = parseJsonFile(sourcePath("test/data/golden/prompts.json"));
    ASSERT_TRUE(bool(parsed)) << toString(parsed.takeError());
    prompts = std::move(*parsed);
  }

  const Json &prompt() { return *prompts.asObject()->find(GetParam()); }
  FloatTensor feed(Session &session, llvm::ArrayRef<int32_t> ids) {
    auto rows = session.feed(ids);
    EXPECT_TRUE(bool(rows)) << toString(rows.takeError());
    return rows ? *rows : FloatTensor();
  }
  NpyArray golden(const std::string &kind) {
    auto array = readNpy(sourcePath("test/data/golden/") + GetParam() + "_logits_" + kind + ".npy");
    EXPECT_TRUE(bool(array)) << toString(array.takeError());
    return array ? *array : NpyArray();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;
  Json prompts;
};

TEST_P(GoldenTest, LogitsAndGreedyTokens) {
  auto session = Session::create(*interpreter);
  ASSERT_TRUE(bool(session)) << toString(session.takeError());
  FloatTensor rows = feed(*session, idsOf(prompt(), "prompt_ids"));
  ASSERT_FALSE(rows.values.empty());
  NpyArray last = golden("last");
  ASSERT_EQ(last.values.size(), 2048u);
  float largest = 0;
  for (size_t i = 0; i < last.values.size(); ++i)
    largest = std::max(largest, std::fabs(rows.row(rows.numRows() - 1)[i] - last.values[i]));
  RecordProperty("largest_difference", std::to_string(largest));
  EXPECT_LE(largest, kTolerance);
  std::vector<int32_t> greedy;
  while (greedy.size() < 64) {
    greedy.push_back(argmax(rows.row(rows.numRows() - 1)));
    rows = feed(*session, greedy.back());
  }
  EXPECT_EQ(greedy, idsOf(prompt(), "greedy_ids"));
}

TEST_P(GoldenTest, EveryPosition) {
  if (std::string(GetParam()) == "long")
    return; // the golden of all positions exists for the other two
  auto session = Session::create(*interpreter);
  ASSERT_TRUE(bool(session)) << toString(session.takeError());
  FloatTensor rows = feed(*session, idsOf(prompt(), "prompt_ids"));
  NpyArray all = golden("all");
  ASSERT_EQ(all.values.size(), rows.values.size());
  for (size_t i = 0; i < all.values.size(); ++i) // the golden is float16: half a unit of its 11 bits on top
    ASSERT_NEAR(rows.values[i], all.values[i], kTolerance + std::fabs(all.values[i]) * 0x1p-11f) << i;
}

INSTANTIATE_TEST_SUITE_P(Prompts, GoldenTest, testing::Values("short", "medium", "long"));

} // namespace
