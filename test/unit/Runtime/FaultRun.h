// SPDX-License-Identifier: Apache-2.0
/// \file
/// A user's whole run of the fake model under faults: every result that is right is compared bit by bit with the
/// reference, every call that fails is repeated once without faults and must then succeed, and nothing is left behind.
#ifndef TEST_UNIT_RUNTIME_FAULTRUN_H
#define TEST_UNIT_RUNTIME_FAULTRUN_H

#include "FaultLayer.h"

#include <functional>

namespace fake {

/// How a model is opened.
struct Setting {
  uint64_t slots = kTopK + 1;
  uint32_t lanes = 2, threads = 2;
  bool inParts = false, isBuffered = false, hasState = true, prefetches = false, locks = false;
  uint32_t prediction = 0;
  uint64_t pieceBytes = 0; /// of reads of experts; 0 = as in production

  std::string text() const;
  moert_open_options options(const std::string &path) const;
};
/// Settings that together hold each pair of values.
const std::vector<Setting> &settings();

/// Wrong and right hints, as a predictor would give them, from a layer hook.
int32_t hintExperts(moert_context *context, int32_t layer);

struct FaultRun {
  /// `what` names the case in messages of failed tests.
  FaultRun(FaultLayer &layer, const Setting &setting, const std::string &path, const std::string &what);
  /// For runs whose files change.
  bool readsFromDisk = false;
  /// Does everything; `status` and `message` are those of the first call that failed.
  void run();

  moert_status status = MOERT_STATUS_OK;
  std::string message;

private:
  bool attempt(const char *name, const std::function<moert_status(moert_error *)> &call);
  void prefill(moert_session *session, std::vector<int32_t> &held, const std::vector<int32_t> &ids);
  void decode(moert_session *session, std::vector<int32_t> &held, int32_t id);
  void expectLogits(moert_session *session, const std::vector<int32_t> &held);
  void useSession(moert_session *session);
  void useModel();

  FaultLayer &layer;
  Setting setting;
  std::string path, what;
  moert_model *model = nullptr;
};

/// The pack for a setting, made once.
const std::string &packFor(const Setting &setting);

} // namespace fake
#endif
