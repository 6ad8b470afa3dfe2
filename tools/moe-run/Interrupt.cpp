// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C ends the generation, not the program. A signal handler has no argument: what it needs is global.
#include "tools/moe-run/Interrupt.h"

#include <signal.h>

namespace moerun {

static const moert_api *watchedApi;
static moert_session *watchedSession;

static void cancel(int) {
  // session_cancel is one atomic store (moert.h: from any thread), so a handler may call it.
  moert_session *session = __atomic_load_n(&watchedSession, __ATOMIC_ACQUIRE);
  if (session)
    watchedApi->session_cancel(session);
}

void watchInterrupts(const moert_api *api, moert_session *session) {
  if (api)
    watchedApi = api;
  __atomic_store_n(&watchedSession, session, __ATOMIC_RELEASE);
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = session ? cancel : SIG_DFL;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, nullptr);
}

} // namespace moerun
