// SPDX-License-Identifier: Apache-2.0
/// \file
/// One session's side of the pager: the experts that a chunk needs in a layer, sorted, and handed out in waves as they
/// become resident. Works with any number of slots from one up.
#ifndef RUNTIME_SESSION_EXPERTWAVES_H
#define RUNTIME_SESSION_EXPERTWAVES_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/pager/LayerRequest.h"
#include "runtime/pager/Pager.h"

namespace moert {

/// Zero-filled memory is a valid object without a request. Invariant: a pin is held exactly for each expert that is
/// requested or computing.
class ExpertWaves {
public:
  /// Takes the arrays from the session's region.
  void place(Carver &carver, const moert_model_descriptor &descriptor);
  /// Sorts the (token, rank) pairs by expert and issues reads for what is missing, as far as slots are free. Ranks from
  /// `used` on have no expert.
  moert_status begin(Pager &pager, const moert_model_descriptor &descriptor, int32_t layer, const int32_t *ids,
                     int64_t numTokens, int32_t topK, int64_t used, moert_error *error);
  /// Drops the pins of the last wave, waits for the next experts, fills `wave`; no experts = all are done, or with
  /// `mayComeBack`, once for a request and without waiting, that none is there yet: see `isDone`.
  moert_status next(Pager &pager, moert_wave &wave, moert_error *error, bool mayComeBack = false);
  /// Whether every expert of the request was computed.
  bool isDone() const { return numDone == request.numRouted; }
  /// Once after each request: what was asked for, with `end_ns` 0 if not all was computed. The ids are valid until the
  /// next request. False if there is nothing to tell.
  bool takeRouting(moert_routing &taken);
  /// Drops all pins; called when an entry function returns.
  void finish(Pager &pager);

  /// Of the last request: its layer, and whether it had reads to begin at once.
  int32_t layer() const { return request.ofLayer(); }
  bool hasBegunReads() const { return hasReads; }

private:
  void noteRequest(Pager &pager, int32_t layer, int64_t numTokens, int32_t topK);
  void dropWave(Pager &pager);
  bool startLoads(Pager &pager);
  void tryAgain(Pager &pager, RoutedExpert &entry);
  moert_status collect(Pager &pager, moert_error *error);

  LayerRequest request;
  int32_t *wavePairs, *wavePairBegin;
  const uint8_t **waveRecords;
  int32_t numDone, numComputing, numExperts;
  moert_routing routing;
  bool hasRouting, hasWave, hasReads; /// of the running request: something to tell, was answered, began reads
};

} // namespace moert
#endif
