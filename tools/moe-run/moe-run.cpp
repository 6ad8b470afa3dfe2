// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a compiled model: loads OUT.so and its pack, continues a prompt, prints the text. Uses nothing of the
/// project but the C API, as any app would; only --doctor looks into files and tables. Main source:
/// docs/command-line.md.
#include "tools/moe-run/Bench.h"
#include "tools/moe-run/Chat.h"
#include "tools/moe-run/Options.h"
#include "tools/moe-run/Run.h"
#include "tools/moe-run/doctor/Doctor.h"

int main(int argc, char **argv) {
  moerun::Options options;
  if (!moerun::parseOptions(argc, argv, options))
    return moerun::kExitUsage;
  if (options.help) {
    moerun::printHelp();
    return moerun::kExitRight;
  }
  if (options.doctor)
    return moerun::examine(options);
  if (options.bench)
    return moerun::measure(options);
  return options.converses() ? moerun::converse(options) : moerun::run(options);
}
