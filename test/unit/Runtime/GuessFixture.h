// SPDX-License-Identifier: Apache-2.0
/// \file
/// A pager that reads experts in four pieces each, and reads that a test can hold back at any piece.
#ifndef TEST_UNIT_RUNTIME_GUESSFIXTURE_H
#define TEST_UNIT_RUNTIME_GUESSFIXTURE_H

#include "WavesFixture.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unistd.h>

namespace fake {

constexpr uint64_t kPieceBytes = 8192;
constexpr uint64_t kPieces = kRecordBytes / kPieceBytes;

/// Records the pieces of experts that are read, and holds back the reading at one or two of them.
struct Gate {
  uint64_t experts = 0; /// where they begin
  moert::Mutex mutex = {};
  std::vector<uint64_t> pieces; /// expert * kPieces + piece
  std::atomic<uint64_t> held{UINT64_MAX}, alsoHeld{UINT64_MAX};
  std::atomic<bool> isHolding{false};

  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<Gate *>(user);
    if (self.experts && offset >= self.experts) {
      uint64_t piece = (offset - self.experts) / kPieceBytes;
      {
        moert::Lock lock(self.mutex);
        self.pieces.push_back(piece);
      }
      while (self.held == piece || self.alsoHeld == piece) {
        self.isHolding = true;
        std::this_thread::yield();
      }
    }
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
  void waitUntilHeld() {
    while (!isHolding)
      std::this_thread::yield();
  }
  void waitUntilRead(uint64_t piece) {
    for (bool isRead = false; !isRead; std::this_thread::yield()) {
      moert::Lock lock(mutex);
      isRead = std::find(pieces.begin(), pieces.end(), piece) != pieces.end();
    }
  }
  void letGo() {
    held = UINT64_MAX;
    isHolding = false;
  }
  uint64_t timesRead(int32_t expert) {
    moert::Lock lock(mutex);
    uint64_t count = 0;
    for (uint64_t piece : pieces)
      count += piece / kPieces == static_cast<uint64_t>(expert);
    return count;
  }
  void forget() {
    moert::Lock lock(mutex);
    pieces.clear();
  }
};

/// Layer 1's expert e is kExperts + e.
struct Guessing {
  explicit Guessing(uint32_t lanes, uint64_t numSlots = 8, moert_prediction mode = MOERT_PREDICTION_ALWAYS) {
    moert::Hooks hooks = {};
    hooks.read = Gate::read;
    hooks.user = &gate;
    hooks.checkStates = true;
    hooks.pieceBytes = kPieceBytes;
    moert_open_options given = options(path, budgetFor(numSlots, 1, lanes), 1);
    given.reader_lanes = lanes;
    given.prediction = mode;
    model = openWith(given, hooks);
    gate.experts = layout.experts;
  }
  ~Guessing() {
    {
      moert::Lock lock(model->pager.mutex);
      EXPECT_EQ(model->pager.assertState(), 0);
    }
    EXPECT_FALSE(model->pager.isBroken());
    api().close(model);
  }
  void predict(std::vector<int32_t> experts) {
    model->pager.predict(1, experts.data(), static_cast<uint32_t>(experts.size()));
  }
  bool isThere(int32_t expert) {
    moert::Lock lock(model->pager.mutex);
    int32_t slot = model->pager.table.slotOf(expert);
    return slot >= 0 && model->pager.table[slot].state == moert::SlotState::Resident;
  }
  void waitFor(int32_t expert) {
    while (!isThere(expert))
      std::this_thread::yield();
  }
  moert_statistics statistics() {
    moert_statistics stats = {};
    EXPECT_EQ(api().statistics(model, &stats, nullptr), MOERT_STATUS_OK);
    return stats;
  }
  PackLayout layout;
  std::string path = makePack({}, &layout); /// fills in the model, whose sizes `w` needs
  Gate gate;
  moert_model *model = nullptr;
  Waves w;
};

} // namespace fake
#endif
