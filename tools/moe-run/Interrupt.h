// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C ends the generation, not the program.
#ifndef TOOLS_MOE_RUN_INTERRUPT_H
#define TOOLS_MOE_RUN_INTERRUPT_H

#include "moert/moert.h"

namespace moerun {

/// The first SIGINT or SIGTERM cancels the session, the second ends the program as usual. Null stops watching. A closed
/// stdout is an error of the write, not a signal.
void watchInterrupts(const moert_api *api, moert_session *session);

} // namespace moerun
#endif
