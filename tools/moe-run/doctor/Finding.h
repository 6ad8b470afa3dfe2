// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a check of --doctor says, and the list of all of them. What is a warning or an error is a finding; the rest
/// passed. Main source: docs/doctor.md, whose table a test compares with this.
#ifndef TOOLS_MOE_RUN_DOCTOR_FINDING_H
#define TOOLS_MOE_RUN_DOCTOR_FINDING_H

#include "moert/moert.h"

namespace moerun {

/// In rising order but for Unknown, which is no fault.
enum class State { Ok, Unknown, Warning, Error };

struct Finding {
  const char *check;
  State state;
  char found[sizeof(moert_error::message)];
  char needed[256];
  char remedy[320]; // empty where nothing is to be done
  double value, limit;
  const char *unit; // of both; null = no number

  bool isFault() const { return state == State::Warning || state == State::Error; }
  Finding &need(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// The remedy; kept only if this is a fault.
  Finding &advise(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// What was measured and the bound that it is compared with.
  Finding &measure(double value, double limit, const char *unit);
};

class Findings {
public:
  Finding &add(const char *check, State state, const char *found, ...) __attribute__((format(printf, 4, 5)));
  /// For what the system does not tell.
  Finding &addUnknown(const char *check, const char *why) { return add(check, State::Unknown, "%s", why); }
  State worst() const;
  /// Lines for a reader.
  void print() const;
  /// `"findings": [...], "passed": [...]`.
  void printJson() const;

private:
  void printList(bool faults) const;

  static constexpr unsigned kMost = 24;
  Finding list[kMost] = {};
  unsigned count = 0;
};

const char *nameOf(State state);

} // namespace moerun
#endif
