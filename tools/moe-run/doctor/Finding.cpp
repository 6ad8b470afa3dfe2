// SPDX-License-Identifier: Apache-2.0
/// \file
/// Findings as text and as JSON.
#include "tools/moe-run/doctor/Finding.h"

#include "tools/moe-run/Report.h"

#include <stdarg.h>
#include <stdio.h>

namespace moerun {

const char *nameOf(State state) {
  switch (state) {
  case State::Ok:
    return "ok";
  case State::Unknown:
    return "unknown";
  case State::Warning:
    return "warning";
  case State::Error:
    break;
  }
  return "error";
}

Finding &Finding::need(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(needed, sizeof(needed), format, arguments);
  va_end(arguments);
  return *this;
}

Finding &Finding::advise(const char *format, ...) {
  if (!isFault())
    return *this;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(remedy, sizeof(remedy), format, arguments);
  va_end(arguments);
  return *this;
}

Finding &Finding::measure(double measured, double bound, const char *of) {
  value = measured;
  limit = bound;
  unit = of;
  return *this;
}

Finding &Findings::add(const char *check, State state, const char *format, ...) {
  Finding &finding = list[count < kMost ? count++ : kMost - 1];
  finding.check = check;
  finding.state = state;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(finding.found, sizeof(finding.found), format, arguments);
  va_end(arguments);
  return finding;
}

State Findings::worst() const {
  State state = State::Ok;
  for (unsigned i = 0; i < count; ++i)
    if (list[i].isFault() && list[i].state > state)
      state = list[i].state;
  return state;
}

void Findings::print() const {
  for (unsigned i = 0; i < count; ++i) {
    const Finding &f = list[i];
    printf("%-8s %-17s %s\n", nameOf(f.state), f.check, f.found);
    if (f.needed[0])
      printf("%26s needed: %s\n", "", f.needed);
    if (f.remedy[0])
      printf("%26s remedy: %s\n", "", f.remedy);
  }
  State state = worst();
  printf("%s\n", state == State::Error     ? "this model cannot run here"
                 : state == State::Warning ? "this model runs here, with the warnings above"
                                           : "this model runs here");
}

void Findings::printList(bool faults) const {
  const char *comma = "";
  for (unsigned i = 0; i < count; ++i) {
    const Finding &f = list[i];
    if (f.isFault() != faults)
      continue;
    const char *keys[] = {"check", "state", "found", "needed", "remedy"};
    const char *values[] = {f.check, nameOf(f.state), f.found, f.needed, f.remedy};
    for (unsigned k = 0; k < 5; ++k) {
      printf("%s\"%s\": ", k ? ", " : *comma ? ", {" : "{", keys[k]);
      printJsonText(values[k], strlen(values[k]));
    }
    if (f.unit)
      printf(", \"value\": %.12g, \"limit\": %.12g, \"unit\": \"%s\"", f.value, f.limit, f.unit);
    putchar('}');
    comma = ", ";
  }
}

void Findings::printJson() const {
  fputs("\"findings\": [", stdout);
  printList(true);
  fputs("], \"passed\": [", stdout);
  printList(false);
  putchar(']');
}

} // namespace moerun
