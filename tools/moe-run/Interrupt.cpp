// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ctrl-C ends the generation, not the program. A signal handler has no argument: what it needs is global. It calls
/// nothing but what POSIX allows in one: sigaction, unlink, raise.
#include "tools/moe-run/Interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace moerun {

static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

static const moert_api *watchedApi;
static moert_session *watchedSession;
/// Of the trace and of the logits.
static const char *temporaries[2];

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  if (number == SIGHUP && sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
    return;
  action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(number, &action, nullptr);
}

static void end(int number) {
  for (const char *&slot : temporaries)
    if (const char *path = __atomic_load_n(&slot, __ATOMIC_ACQUIRE))
      unlink(path);
  // SA_RESETHAND: this one ends the program, once the handler has returned.
  raise(number);
}

static void cancel(int) {
  // Whichever of them comes next.
  for (int number : kSignals)
    handle(number, end);
  // session_cancel is one atomic store (moert.h: from any thread), so a handler may call it.
  moert_session *session = __atomic_load_n(&watchedSession, __ATOMIC_ACQUIRE);
  if (session)
    watchedApi->session_cancel(session);
}

void watchInterrupts(const moert_api *api, moert_session *session) {
  if (api)
    watchedApi = api;
  __atomic_store_n(&watchedSession, session, __ATOMIC_RELEASE);
  for (int number : kSignals)
    handle(number, session ? cancel : end);
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

void removeWhenEnded(const char *path) {
  for (const char *&slot : temporaries)
    if (!slot) {
      __atomic_store_n(&slot, path, __ATOMIC_RELEASE);
      break;
    }
  if (!watchedSession)
    for (int number : kSignals)
      handle(number, end);
}

void forgetTemporary(const char *path) {
  for (const char *&slot : temporaries)
    if (slot == path)
      __atomic_store_n(&slot, nullptr, __ATOMIC_RELEASE);
}

} // namespace moerun
