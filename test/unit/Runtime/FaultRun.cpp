// SPDX-License-Identifier: Apache-2.0
/// \file
/// Settings, and the calls of a whole run.
#include "FaultRun.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace fake;

//===--- settings -------------------------------------------------------------------------------------------------===//

std::string Setting::text() const {
  return std::to_string(slots) + " slots, " + std::to_string(lanes) + " lanes, " + std::to_string(threads) +
         " threads" + (inParts ? ", parts" : "") + (isBuffered ? ", buffered" : "") + (hasState ? ", state" : "") +
         (prefetches ? ", prefetches" : "") + (locks ? ", locks" : "") + ", prediction " + std::to_string(prediction) +
         ", pieces of " + std::to_string(pieceBytes);
}

moert_open_options Setting::options(const std::string &path) const {
  moert_open_options result = fake::options(path, 0, threads);
  result.reader_lanes = lanes;
  result.max_sessions = 2;
  result.buffered_reads = isBuffered;
  result.prediction = prediction;
  result.lock_memory = locks;
  moert_plan_info info = {};
  EXPECT_EQ(api().plan(&result, &info, nullptr), MOERT_STATUS_OK);
  result.budget_bytes = info.plan_bytes - (info.num_experts - slots) * info.slot_bytes;
  return result;
}

const std::vector<Setting> &fake::settings() {
  constexpr uint64_t kAll = kLayers * kExperts;
  static const std::vector<Setting> kSettings = {
      {.slots = kTopK + 1, .lanes = 2, .threads = 2},
      {.slots = kTopK + 1, .lanes = 1, .threads = 1, .isBuffered = true, .hasState = false, .pieceBytes = 8192},
      {.slots = kAll, .lanes = 2, .threads = 1, .inParts = true, .prefetches = true, .prediction = 2},
      {.slots = 9,
       .lanes = 3,
       .threads = 3,
       .isBuffered = true,
       .prefetches = true,
       .locks = true,
       .prediction = 2,
       .pieceBytes = 4096},
      {.slots = kTopK + 1, .lanes = 1, .threads = 2, .inParts = true, .hasState = false, .prefetches = true},
      {.slots = kTopK, .lanes = 4, .threads = 1, .locks = true, .prediction = 1}};
  return kSettings;
}

const std::string &fake::packFor(const Setting &setting) {
  static std::string packs[4];
  static moert_model_descriptor descriptors[4];
  size_t index = static_cast<size_t>(setting.inParts) * 2 + setting.hasState;
  if (packs[index].empty()) {
    packs[index] =
        makePack({.partBytes = setting.inParts ? 5 * kRecordBytes : 0u, .stateBytes = setting.hasState ? 64u : 0u});
    descriptors[index] = moert_model_v1;
  }
  moert_model_v1 = descriptors[index];
  return packs[index];
}

int32_t fake::hintExperts(moert_context *context, int32_t layer) {
  int32_t next = (layer + 1) % static_cast<int32_t>(kLayers), at = static_cast<int32_t>(context->position);
  context->calls->wants_prediction(context, next); // against the advice, too
  int32_t ids[3] = {(at * 5 + layer) % static_cast<int32_t>(kExperts), (at + 3) % static_cast<int32_t>(kExperts),
                    (at * 7 + 1) % static_cast<int32_t>(kExperts)};
  return context->calls->prefetch(context, next, ids, 1 + at % 3);
}

//===--- calls ----------------------------------------------------------------------------------------------------===//

FaultRun::FaultRun(FaultLayer &layer, const Setting &setting, const std::string &path, const std::string &what)
    : layer(layer), setting(setting), path(path), what(what + "; " + setting.text()) {}

bool FaultRun::attempt(const char *name, const std::function<moert_status(moert_error *)> &call) {
  moert_error error = {};
  moert_status found = call(&error);
  if (found == MOERT_STATUS_OK)
    return true;
  EXPECT_EQ(error.status, found) << name << ": " << what;
  EXPECT_NE(error.message[0], 0) << name << ": " << what;
  if (status == MOERT_STATUS_OK) {
    status = found;
    message = error.message;
  }
  layer.clear();
  moert_error again = {};
  found = call(&again);
  EXPECT_EQ(found, MOERT_STATUS_OK) << name << " again: " << again.message << " (first: " << error.message
                                    << "): " << what;
  return found == MOERT_STATUS_OK;
}

void FaultRun::prefill(moert_session *session, std::vector<int32_t> &held, const std::vector<int32_t> &ids) {
  size_t before = held.size();
  held.insert(held.end(), ids.begin(), ids.end());
  attempt("prefill", [&](moert_error *error) {
    uint64_t length = api().session_length(session);
    EXPECT_TRUE(length >= before && length < held.size()) << length << ": " << what;
    return api().prefill(session, held.data() + length, held.size() - length, 0, nullptr, nullptr, error);
  });
  EXPECT_EQ(api().session_length(session), held.size()) << what;
}

void FaultRun::decode(moert_session *session, std::vector<int32_t> &held, int32_t id) {
  held.push_back(id);
  attempt("decode", [&](moert_error *error) {
    EXPECT_EQ(api().session_length(session), held.size() - 1) << what;
    return api().decode(session, id, error);
  });
}

void FaultRun::expectLogits(moert_session *session, const std::vector<int32_t> &held) {
  ASSERT_NE(api().logits(session), nullptr) << what;
  std::vector<float> expected = referenceLogits(held, SIZE_MAX, 0, kTopK, setting.hasState).back();
  EXPECT_EQ(memcmp(api().logits(session), expected.data(), kVocab * sizeof(float)), 0)
      << "wrong logits after " << held.size() << " tokens: " << what;
}

void FaultRun::useSession(moert_session *session) {
  std::vector<int32_t> ids = somePrompt(90), held;
  prefill(session, held, {ids.begin(), ids.begin() + 20});
  for (int i = 0; i < 3; ++i)
    decode(session, held, ids[static_cast<size_t>(i) + 30]);
  expectLogits(session, held);
  attempt("rewind", [&](moert_error *error) { return api().session_rewind(session, 10, error); });
  held.resize(10);
  int32_t ignored = 0;
  moert_sampler_options greedy = {};
  attempt("sample", [&](moert_error *error) { return api().sample(session, &greedy, &ignored, error); });
  expectLogits(session, held);
  prefill(session, held, {ids.begin() + 40, ids.begin() + 90}); // into a second block of the KV cache
  decode(session, held, 7);
  expectLogits(session, held);
  attempt("reset", [&](moert_error *error) { return api().session_reset(session, error); });
  held.clear();
  prefill(session, held, {ids.begin(), ids.begin() + 3});
  expectLogits(session, held);
}

void FaultRun::useModel() {
  moert_session *first = nullptr, *second = nullptr;
  if (!attempt("create", [&](moert_error *error) { return api().session_create(model, &first, error); }))
    return;
  useSession(first);
  if (attempt("create", [&](moert_error *error) { return api().session_create(model, &second, error); })) {
    std::vector<int32_t> held;
    decode(second, held, 11);
    expectLogits(second, held);
  }
  api().session_destroy(first);
  api().session_destroy(second);
}

void FaultRun::run() {
  static const Footprint before = Footprint::now();
  for (int part = 0; !readsFromDisk && std::filesystem::exists(part ? path + "." + std::to_string(part) : path); ++part)
    layer.keepInMemory(part ? path + "." + std::to_string(part) : path);
  layer.pieceBytes = setting.pieceBytes;
  setLayerHook(setting.prefetches ? hintExperts : nullptr);
  moert_open_options options = setting.options(path);
  moert_plan_info info = {};
  EXPECT_EQ(api().plan(&options, &info, nullptr), MOERT_STATUS_OK);
  attempt("open", [&](moert_error *error) {
    moert_status opened = layer.open(options, &model, error);
    EXPECT_EQ(opened == MOERT_STATUS_OK, model != nullptr) << what;
    return opened;
  });
  if (model) {
    useModel();
    layer.bytesAtClose = UINT64_MAX;
    api().close(model);
    EXPECT_EQ(layer.bytesAtClose, info.code_bytes) << "the ledger's bytes at close: " << what;
  }
  setLayerHook(nullptr);
  EXPECT_EQ(layer.numRanges, 0) << "address ranges left: " << what;
  before.expectSame(what);
}
