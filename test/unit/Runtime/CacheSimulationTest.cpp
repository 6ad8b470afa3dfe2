// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a run misses follows from what its routers chose: the simulation, fed with that alone, misses the same experts
/// in every layer of every call, whatever the budget, the policy, the reader threads and the time that reads take.
#include "FakeModel.h"

#include "moert/CacheSimulation.h"
#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

struct Request {
  uint32_t layer, numTokens, numDistinct, numMissed;
  uint64_t position, bytesRead;
  std::vector<int32_t> ids;
};

void onRouting(void *user, const moert_routing *routing) {
  EXPECT_EQ(routing->top_k, kTopK);
  EXPECT_LE(routing->begin_ns, routing->end_ns);
  static_cast<std::vector<Request> *>(user)->push_back(
      {routing->layer,
       routing->num_tokens,
       routing->num_distinct,
       routing->num_missed,
       routing->position,
       routing->bytes_read,
       {routing->ids, routing->ids + routing->num_tokens * routing->top_k}});
}

/// Reads that take up to 100 us longer.
struct SlowReads {
  std::mt19937 random{5};
  moert::Mutex mutex = {};
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<SlowReads *>(user);
    unsigned delayUs = 0;
    {
      moert::Lock lock(self.mutex);
      delayUs = self.random() % 100;
    }
    usleep(delayUs);
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};

/// Prompts in chunks of several sizes, and replies.
std::vector<Request> record(moert_open_options given, moert_statistics &stats) {
  std::vector<Request> requests;
  SlowReads reads;
  moert::Hooks hooks = {};
  hooks.read = SlowReads::read;
  hooks.user = &reads;
  hooks.checkStates = true;
  given.on_routing = onRouting;
  given.routing_user = &requests;
  given.prediction = MOERT_PREDICTION_OFF;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  EXPECT_EQ(moert::openModel(moert_model_v1, &given, hooks, &model, &error), MOERT_STATUS_OK) << error.message;
  EXPECT_EQ(api().session_create(model, &session, &error), MOERT_STATUS_OK) << error.message;
  std::vector<int32_t> ids = somePrompt(90);
  size_t at = 0;
  for (auto [count, chunk] : {std::pair{37u, 16u}, {1u, 1u}, {9u, 4u}, {20u, 7u}}) {
    EXPECT_EQ(api().prefill(session, ids.data() + at, count, chunk, nullptr, nullptr, &error), MOERT_STATUS_OK);
    at += count;
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(api().decode(session, ids[at++], &error), MOERT_STATUS_OK) << error.message;
  }
  api().statistics(model, &stats, nullptr);
  api().session_destroy(session);
  api().close(model);
  return requests;
}

struct Free {
  void operator()(void *memory) const { free(memory); }
};

struct Simulation {
  Simulation(uint32_t numSlots, moert_eviction eviction) {
    moert_cache_shape shape = {kLayers, kExperts, numSlots, kChunk * kTopK};
    uint64_t sizeBytes = (moert_cache_bytes(&shape) + 63) / 64 * 64;
    memory.reset(aligned_alloc(64, sizeBytes));
    memset(memory.get(), 0, sizeBytes);
    cache = moert_cache_create(memory.get(), &shape, eviction);
  }
  std::unique_ptr<void, Free> memory;
  moert_cache_simulation *cache;
};

TEST(CacheSimulation, MissesWhatTheRuntimeMisses) {
  std::string path = makePack();
  std::vector<Request> first;
  for (uint32_t slots : {2u, 3u, 9u, 23u})
    for (moert_eviction eviction :
         {MOERT_EVICTION_LRU, MOERT_EVICTION_LFU, MOERT_EVICTION_FREQUENCY_RECENCY, MOERT_EVICTION_DEFAULT})
      for (uint32_t lanes : {1u, 4u}) {
        moert_open_options given = options(path, 0, 1);
        given.reader_lanes = lanes;
        moert_plan_info plan = {};
        ASSERT_EQ(api().plan(&given, &plan, nullptr), MOERT_STATUS_OK);
        given.budget_bytes = plan.plan_bytes - (plan.num_experts - slots) * plan.slot_bytes;
        given.eviction = eviction;
        moert_statistics stats = {};
        std::vector<Request> requests = record(given, stats);
        SCOPED_TRACE(testing::Message() << slots << " slots, eviction " << eviction << ", " << lanes << " lanes");
        ASSERT_EQ(requests.size(), kLayers * (3u + 1 + 3 + 3 + 20));
        first = first.empty() ? requests : first;
        Simulation simulation(slots, eviction);
        uint64_t numHits = 0, numMisses = 0;
        for (size_t i = 0; i < requests.size(); ++i) {
          const Request &request = requests[i];
          ASSERT_EQ(request.ids, first[i].ids) << "the routing depends on the circumstances";
          moert_cache_result result = {};
          ASSERT_TRUE(moert_cache_request(simulation.cache, request.layer, request.ids.data(), request.numTokens, kTopK,
                                          &result));
          ASSERT_EQ(moert_cache_check(simulation.cache), 0);
          ASSERT_EQ(result.num_distinct, request.numDistinct) << "request " << i;
          ASSERT_EQ(result.num_missed, request.numMissed) << "request " << i;
          ASSERT_EQ(request.bytesRead, uint64_t{kRecordBytes} * request.numMissed);
          numMisses += result.num_missed;
          numHits += result.num_distinct - result.num_missed;
        }
        EXPECT_EQ(stats.expert_misses, numMisses);
        EXPECT_EQ(stats.expert_hits, numHits);
        EXPECT_EQ(stats.expert_bytes_read, numMisses * kRecordBytes);
      }
}

TEST(CacheSimulation, RefusesIdsThatAreNone) {
  Simulation simulation(2, MOERT_EVICTION_DEFAULT);
  moert_cache_result result = {};
  const int32_t good[] = {3, -1}, tooLarge[] = {0, kExperts}, negative[] = {-2, 0};
  EXPECT_TRUE(moert_cache_request(simulation.cache, 1, good, 1, 2, &result));
  EXPECT_EQ(result.num_distinct, 1u);
  EXPECT_TRUE(moert_cache_holds(simulation.cache, 1, 3));
  EXPECT_FALSE(moert_cache_holds(simulation.cache, 0, 3));
  EXPECT_FALSE(moert_cache_request(simulation.cache, 1, tooLarge, 1, 2, &result));
  EXPECT_FALSE(moert_cache_request(simulation.cache, 1, negative, 1, 2, &result));
  EXPECT_EQ(moert_cache_check(simulation.cache), 0);
}

/// A cycle that is longer than the slots: least recently used finds nothing again.
TEST(CacheSimulation, FadedUsesFindSomeOfACycleThatDoesNotFit) {
  uint32_t hits[4] = {};
  for (moert_eviction eviction : {MOERT_EVICTION_LRU, MOERT_EVICTION_FREQUENCY_RECENCY}) {
    Simulation simulation(16, eviction);
    std::vector<int32_t> ids;
    for (uint32_t i = 0; i < kChunk * kTopK; ++i)
      ids.push_back(static_cast<int32_t>(i % kExperts));
    for (int round = 0; round < 10; ++round)
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        moert_cache_result result = {};
        ASSERT_TRUE(moert_cache_request(simulation.cache, layer, ids.data(), kChunk, kTopK, &result));
        hits[eviction] += result.num_distinct - result.num_missed;
      }
  }
  EXPECT_EQ(hits[MOERT_EVICTION_LRU], 0u);
  // Of 24 experts in 16 slots all but the two of the stream stay: 14 of 24, but for the first round.
  EXPECT_GE(hits[MOERT_EVICTION_FREQUENCY_RECENCY], 9u * 14);
}

} // namespace
