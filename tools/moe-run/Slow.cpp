// SPDX-License-Identifier: Apache-2.0
/// \file
/// Choosing and printing the causes.
#include "tools/moe-run/Slow.h"

#include "moert/MachineCheck.h"

#include <stdio.h>

namespace moerun {

SlowCauses slowCauses(const moert_statistics &s, const char *root) {
  // A choice: less is the usual unrest of a system.
  constexpr double kLeastShare = 0.05;
  moert_slow_shares shares = {s.slow_swap, s.slow_throttled, s.slow_oversubscribed};
  if (root)
    moert_described_slowdown(root, s.prefill_ns + s.decode_ns, s.threads, &shares);
  const SlowCauses::Cause all[] = {{"flash", static_cast<double>(s.slow_flash)},
                                   {"swap", static_cast<double>(shares.swap)},
                                   {"throttled", static_cast<double>(shares.throttled)},
                                   {"oversubscribed", static_cast<double>(shares.oversubscribed)}};
  SlowCauses slow = {};
  for (const SlowCauses::Cause &cause : all) {
    if (cause.share < kLeastShare)
      continue;
    unsigned at = slow.count++;
    for (; at && slow.causes[at - 1].share < cause.share; --at)
      slow.causes[at] = slow.causes[at - 1];
    slow.causes[at] = cause;
  }
  return slow;
}

void printSlowJson(const SlowCauses &slow) {
  fputs("\"slow\": [", stdout);
  for (unsigned i = 0; i < slow.count; ++i)
    printf("%s{\"cause\": \"%s\", \"share\": %.3f}", i ? ", " : "", slow.causes[i].name, slow.causes[i].share);
  putchar(']');
}

void printSlow(const SlowCauses &slow) {
  for (unsigned i = 0; i < slow.count; ++i)
    fprintf(stderr, "%s%s %.0f %%", i ? ", " : "slowed down by: ", slow.causes[i].name, 100 * slow.causes[i].share);
  if (slow.count)
    fputs(" of the time (docs/debugging.md)\n", stderr);
}

} // namespace moerun
