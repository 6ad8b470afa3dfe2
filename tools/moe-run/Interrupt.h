// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C ends the generation, not the program; and what ends the program leaves no unfinished file.
#ifndef TOOLS_MOE_RUN_INTERRUPT_H
#define TOOLS_MOE_RUN_INTERRUPT_H

#include "moert/moert.h"

namespace moerun {

/// The first SIGINT, SIGTERM or SIGHUP cancels the session, the second ends the program as usual. Null stops watching.
/// A closed stdout is an error of the write, not a signal. A SIGHUP that is ignored (nohup) stays so.
void watchInterrupts(const moert_api *api, moert_session *session);

/// A file that goes when one of these signals ends the program. `path` stays valid until it is forgotten. There is room
/// for as many as a run writes; beyond that a file would stay.
void removeWhenEnded(const char *path);
void forgetTemporary(const char *path);

} // namespace moerun
#endif
