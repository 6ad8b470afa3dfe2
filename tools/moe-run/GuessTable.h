// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often the guesses of each layer's experts were right: docs/prediction.md.
#ifndef TOOLS_MOE_RUN_GUESSTABLE_H
#define TOOLS_MOE_RUN_GUESSTABLE_H

#include "moert/moert.h"
#include "tools/moe-run/Message.h"

namespace moerun {

class GuessTable {
public:
  struct Layer {
    uint64_t guessed, right;
  };

  /// Has the model that is about to be opened report here, and what it reports passed on to whom `options` names.
  void watch(moert_open_options &options);
  /// Once the model is open. False after a message.
  bool begin(uint32_t numLayers);
  const Array<Layer> &layers() const { return table; }

private:
  static void onRouting(void *user, const moert_routing *routing);

  Array<Layer> table;
  moert_routing_callback next = nullptr;
  void *nextUser = nullptr;
};

} // namespace moerun
#endif
