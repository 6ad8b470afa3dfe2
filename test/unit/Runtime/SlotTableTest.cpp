// SPDX-License-Identifier: Apache-2.0
/// \file
/// Slots keep their invariants under any order of transitions; loads ahead of need take nobody's place who needs it.
#include "runtime/pager/SlotTable.h"
#include "runtime/pager/Eviction.h"
#include "runtime/pager/LayerRequest.h"
#include "runtime/pager/LoadAhead.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace moert;

namespace {

constexpr int32_t kLayers = 3, kExperts = 8, kTotal = kLayers * kExperts;

struct Slots {
  Slots(moert_eviction policy, uint32_t numSlots)
      : slotOf(kTotal), slots(numSlots), weights(kTotal), lastUses(kTotal), layerBegins(kLayers) {
    table.create({slotOf.data(), slots.data()}, kTotal, kExperts, numSlots);
    eviction.create(policy, {weights.data(), lastUses.data(), layerBegins.data()}, kLayers, kExperts);
  }
  /// A turn of a layer in which `experts` are used and, afterwards, resident.
  void turn(int32_t layer, const std::vector<int32_t> &experts) {
    eviction.beginLayer(layer, 1);
    for (int32_t expert : experts) {
      eviction.use(layer * kExperts + expert, 1);
      if (table.slotOf(layer * kExperts + expert) < 0)
        table.finishLoad(table.startLoad(layer * kExperts + expert, 0));
    }
  }
  std::vector<int32_t> startAhead(int32_t layer, std::vector<int32_t> experts) {
    std::vector<VictimList::Victim> scratch(experts.size());
    std::vector<int32_t> started(experts.size());
    started.resize(startLoadsAhead(table, eviction, layer, experts.data(), static_cast<uint32_t>(experts.size()),
                                   scratch.data(), started.data()));
    return started;
  }
  std::vector<int32_t> slotOf;
  std::vector<PageSlot> slots;
  std::vector<uint32_t> weights;
  std::vector<uint64_t> lastUses, layerBegins;
  SlotTable table = {};
  Eviction eviction = {};
};

TEST(SlotTable, RandomTransitionsKeepTheInvariants) {
  Slots s(MOERT_EVICTION_LRU, 5);
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    int32_t expert = static_cast<int32_t>(random() % kTotal), slot = static_cast<int32_t>(random() % 5);
    const PageSlot &page = s.table[slot];
    switch (random() % 7) {
    case 0:
      if (s.table.slotOf(expert) < 0 && s.table.numEmpty())
        s.table.startLoad(expert, random() % 2);
      break;
    case 1:
      if (page.state == SlotState::Loading)
        s.table.finishLoad(slot);
      break;
    case 2:
      if (page.state == SlotState::Loading)
        s.table.failLoad(slot, MOERT_STATUS_IO);
      break;
    case 3:
      if (page.state == SlotState::Loading && !page.pins)
        s.table.cancelLoad(slot);
      break;
    case 4:
      if (page.state != SlotState::Empty && page.state != SlotState::Failed)
        s.table.pin(slot);
      break;
    case 5:
      if (page.pins)
        s.table.unpin(slot);
      break;
    default:
      if (page.state == SlotState::Resident)
        s.table.evict(slot);
    }
    ASSERT_EQ(s.table.assertState(), 0) << "step " << step;
  }
}

TEST(SlotTable, NamesTheViolatedInvariant) {
  Slots s(MOERT_EVICTION_LRU, 3);
  int32_t slot = s.table.startLoad(9, 1);
  ASSERT_EQ(s.table.assertState(), 0);
  s.slotOf[9] = -1;
  EXPECT_EQ(s.table.assertState(), 1);
  s.slotOf[9] = slot;
  s.slots[slot].layer = 2;
  EXPECT_EQ(s.table.assertState(), 7);
  s.slots[slot].layer = 1;
  s.slots[slot].state = SlotState::Resident;
  EXPECT_EQ(s.table.assertState(), 2);
  s.slots[slot].state = SlotState::Pinned;
  EXPECT_EQ(s.table.assertState(), 3);
}

TEST(LoadAhead, FillsEmptySlotsAndSkipsWhatIsThere) {
  Slots s(MOERT_EVICTION_FREQUENCY_RECENCY, 4);
  s.turn(0, {0, 1});
  EXPECT_EQ(s.startAhead(0, {0, 8, 9}).size(), 2u);
  EXPECT_EQ(s.table.numLoading(), 2u);
  EXPECT_EQ(s.table[s.table.slotOf(8)].pins, 0u);
  s.table.cancelLoad(s.table.slotOf(8));
  EXPECT_EQ(s.table.slotOf(8), -1);
  EXPECT_EQ(s.table.assertState(), 0);
}

TEST(LoadAhead, NeverTakesThePlaceOfWhatIsNeededBefore) {
  for (moert_eviction policy : {MOERT_EVICTION_LRU, MOERT_EVICTION_LFU, MOERT_EVICTION_FREQUENCY_RECENCY}) {
    Slots s(policy, 4);
    // In the turn of layer 0, what layer 1 used has its turn no later than a prediction for layer 1 or 2.
    s.turn(1, {0, 1, 2, 3});
    s.turn(2, {});
    s.turn(0, {});
    EXPECT_TRUE(s.startAhead(0, {16}).empty()) << policy;
    EXPECT_TRUE(s.startAhead(0, {12}).empty()) << policy;
    EXPECT_EQ(s.table.assertState(), 0);
  }
}

TEST(LoadAhead, TakesThePlaceOfWhatIsWorthLess) {
  Slots s(MOERT_EVICTION_FREQUENCY_RECENCY, 4);
  // Layer 0 was passed: of its experts one was used by each token, three by one only, long ago.
  s.turn(0, {0, 1, 2, 3});
  for (int token = 0; token < 500; ++token)
    for (int32_t layer = 0; layer < kLayers; ++layer)
      s.turn(layer, layer == 0 ? std::vector<int32_t>{0} : std::vector<int32_t>{});
  s.turn(0, {0});
  std::vector<int32_t> started = s.startAhead(0, {8, 9, 10, 11});
  EXPECT_EQ(started.size(), 3u);
  EXPECT_GE(s.table.slotOf(0), 0) << "the frequent one stays";
  EXPECT_EQ(s.table.assertState(), 0);
}

} // namespace
