// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums over the routings that the library reports.
#include "tools/moe-run/GuessTable.h"

namespace moerun {

void GuessTable::watch(moert_open_options &options) {
  next = options.on_routing;
  nextUser = options.routing_user;
  options.on_routing = onRouting;
  options.routing_user = this;
}

bool GuessTable::begin(uint32_t numLayers) {
  if (!table.reserve(numLayers))
    return printError("out of memory for the guesses of %u layers", numLayers);
  memset(table.data(), 0, numLayers * sizeof(Layer));
  table.setSize(numLayers);
  return true;
}

void GuessTable::onRouting(void *user, const moert_routing *routing) {
  GuessTable &self = *static_cast<GuessTable *>(user);
  if (routing->layer < self.table.size()) {
    self.table.data()[routing->layer].guessed += routing->num_guessed;
    self.table.data()[routing->layer].right += routing->num_guessed_right;
  }
  if (self.next)
    self.next(self.nextUser, routing);
}

} // namespace moerun
