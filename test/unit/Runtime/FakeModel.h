// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model in plain C++ that speaks the ABI of generated code, the writer of its pack, and its reference result. Every
/// output depends on all weights, the whole KV cache and the recurrent state, so that stale or mixed data shows.
#ifndef TEST_UNIT_RUNTIME_FAKEMODEL_H
#define TEST_UNIT_RUNTIME_FAKEMODEL_H

#include "FakeEntries.h"
#include "moert/PackFormat.h"
#include "moert/moert.h"

#include <string>
#include <vector>

namespace fake {

/// Whether shadow memory is part of what the process holds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct PackOptions {
  uint64_t partBytes = 0;
  uint64_t kvBlockBytes = 256;
  uint64_t stateBytes = 64;  /// 0 = no recurrent state, else at least 8
  uint32_t layers = kLayers; /// more layers than the entry functions use only make the pack larger
};

/// Where the pieces of the last pack lie.
struct PackLayout {
  uint64_t directory, resident, experts, rows, total;
};

/// Writes a pack into a fresh folder, sets `moert_model_v1` for it, returns the path.
std::string makePack(const PackOptions &options = {}, PackLayout *layout = nullptr);
/// Inverts one bit of a file.
void flipBit(const std::string &path, uint64_t offset);
void truncateFile(const std::string &path, uint64_t sizeBytes);

/// What the model computes: logits of every token of `ids`, one row each.
std::vector<std::vector<float>> referenceLogits(const std::vector<int32_t> &ids, size_t window = SIZE_MAX,
                                                size_t sinks = 0, uint32_t expertsUsed = kTopK, bool hasState = true);
std::vector<int32_t> somePrompt(size_t count);

const moert_api &api();
moert_open_options options(const std::string &path, uint64_t budget = 0, uint32_t threads = 2);
/// Budget with exactly `numSlots` page slots, for `lanes` reader threads (0 = the default).
uint64_t budgetFor(uint64_t numSlots, uint32_t threads = 2, uint32_t lanes = 0);
moert_model *openOrDie(const moert_open_options &options);
uint64_t residentSetBytes();

} // namespace fake
#endif
