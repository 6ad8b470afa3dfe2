// SPDX-License-Identifier: Apache-2.0
/// \file
/// A session's side of the pager alone, without a session: what tests ask it for.
#ifndef TEST_UNIT_RUNTIME_WAVESFIXTURE_H
#define TEST_UNIT_RUNTIME_WAVESFIXTURE_H

#include "FakeModel.h"

#include "runtime/api/Model.h"
#include "runtime/session/ExpertWaves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace fake {

/// Opens with hooks; the caller closes.
inline moert_model *openWith(const moert_open_options &given, const moert::Hooks &hooks) {
  moert_model *model = nullptr;
  moert_error error = {};
  EXPECT_EQ(moert::openModel(moert_model_v1, &given, hooks, &model, &error), MOERT_STATUS_OK) << error.message;
  return model;
}

/// A session's waves in memory of the test.
struct Waves {
  explicit Waves() {
    moert::Carver measure = {nullptr, 0};
    waves.place(measure, moert_model_v1);
    memory.resize(measure.offset + 64);
    uint64_t misaligned = reinterpret_cast<uintptr_t>(memory.data()) % 64;
    moert::Carver carver = {memory.data() + 64 - misaligned, 0};
    waves = {};
    waves.place(carver, moert_model_v1);
  }
  moert::ExpertWaves waves = {};
  std::vector<uint8_t> memory;
};

/// Runs all waves of a request; checks weights and that each pair comes exactly once, ascending within an expert.
inline uint64_t runWaves(moert_model &model, Waves &w, int32_t layer, const std::vector<int32_t> &ids) {
  moert_error error = {};
  EXPECT_EQ(w.waves.begin(model.pager, moert_model_v1, layer, ids.data(), static_cast<int64_t>(ids.size() / kTopK),
                          kTopK, kTopK, &error),
            MOERT_STATUS_OK)
      << error.message;
  std::vector<int32_t> seen;
  uint64_t numWaves = 0;
  for (;;) {
    moert_wave wave = {};
    EXPECT_EQ(w.waves.next(model.pager, wave, &error), MOERT_STATUS_OK) << error.message;
    if (wave.num_experts == 0)
      break;
    ++numWaves;
    for (int32_t e = 0; e < wave.num_experts; ++e) {
      uint32_t word;
      memcpy(&word, wave.records[e] + kRecordBytes - 4, 4);
      for (int32_t i = wave.pair_begin[e]; i < wave.pair_begin[e + 1]; ++i) {
        EXPECT_EQ(word,
                  static_cast<uint32_t>(layer) * 1000003u + static_cast<uint32_t>(ids[wave.pairs[i]]) * 7919u + 17u);
        EXPECT_TRUE(i == wave.pair_begin[e] || wave.pairs[i - 1] < wave.pairs[i]);
        seen.push_back(wave.pairs[i]);
      }
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen.size(), ids.size());
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], static_cast<int32_t>(i));
  return numWaves;
}

} // namespace fake
#endif
