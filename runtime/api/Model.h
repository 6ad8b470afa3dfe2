// SPDX-License-Identifier: Apache-2.0
/// \file
/// An open model: pack, resident weights, pager, thread pool, ledger. Lives in one region that the ledger accounts.
#ifndef RUNTIME_API_MODEL_H
#define RUNTIME_API_MODEL_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Hooks.h"
#include "runtime/base/Memory.h"
#include "runtime/pack/PackFile.h"
#include "runtime/pager/Pager.h"
#include "runtime/plan/Plan.h"
#include "runtime/pool/ThreadPool.h"
#include "runtime/session/SlowMeter.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace moert {

/// Buffer through which the directory is read.
inline constexpr uint64_t kDirectoryPieceBytes = 48 * 1024;

struct ModelCounters {
  Atomic<uint64_t> tokensPrefilled, tokensDecoded, tokensReplayed, prefillNs, decodeNs, slides;
  Atomic<uint64_t> predicted, predictedRight; /// experts guessed for layers that were then routed, and of those needed
  Atomic<uint64_t> cachedRowBytes;            /// of row tables, at most, in the page cache
};

/// Pieces of the model's region behind the `moert_model` itself.
struct ModelStorage {
  Pager::Storage pager;
  TaskSlot *tasks;
  ThreadPool::Worker *workers;
  Courtesy *manners;       /// of the compute threads
  uint64_t *tableOffsets;  /// [num_streamed_tables] of the row records, in the pack
  uint8_t *directoryPiece; /// [kDirectoryPieceBytes]
};

/// Bytes of that region, without rounding.
uint64_t measureModel(const moert_model_descriptor &descriptor, const Settings &settings);

/// `moert_api::open` for a given descriptor. On failure nothing is left behind.
moert_status openModel(const moert_model_descriptor &descriptor, const moert_open_options *options, const Hooks &hooks,
                       moert_model **model, moert_error *error);
void closeModel(moert_model *model);

/// Reads and checks the directory against the descriptor; fills expert records, row tables.
moert_status loadDirectory(moert_model &model, moert_error *error);
/// Takes memory for the resident weights, reads them in large pieces, verifies every tensor.
moert_status loadResident(moert_model &model, moert_error *error);

} // namespace moert

struct moert_model {
  const moert_model_descriptor *descriptor;
  moert::Settings settings;
  moert::Plan plan;
  moert::Hooks hooks;
  moert::Ledger ledger;
  moert::Region book, resident;
  moert::ModelStorage storage;
  moert::PackFile pack;
  moert::Pager pager;
  moert::ThreadPool pool;
  moert::Tokenizer tokenizer;
  moert::ModelCounters counters;
  moert::SlowMeter slow;
  moert::Atomic<uint32_t> numSessions;
  bool hasTokenizer;
};
#endif
