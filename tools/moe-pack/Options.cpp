// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parsing of the command line of moe-pack.
#include "tools/moe-pack/Options.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace moepack {

static constexpr llvm::StringLiteral kHelp = R"(moe-pack: verify and list weight packs

usage:
  moe-pack verify OUT.moepack [--json] [--threads N]
  moe-pack list OUT.moepack [--json]

commands:
  verify    compare every byte of the pack, in all its parts, with the checksums
  list      print the records and tensors of the pack

flags:
  --json        print exactly one JSON object on stdout
  --threads N   threads that read and compare, 1 to 256; default: one for each processor
  --help        print this text

examples:
  moe-pack verify model.moepack
  moe-pack list model.moepack | grep 'expert layer 0'
  moe-pack verify model.moepack --json

exit codes: 0 the pack is right, 1 it is damaged or cannot be read, 2 wrong usage
)";

static bool usageFault(const llvm::Twine &text) {
  llvm::errs() << "moe-pack: " << text << "; see moe-pack --help\n";
  return false;
}

bool parseOptions(int argc, char **argv, Options &options) {
  int numWords = 0;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return true;
    }
    if (word == "--json") {
      if (options.json)
        return usageFault("--json is given twice");
      options.json = true;
    } else if (word == "--threads") {
      if (options.numThreads != 0)
        return usageFault("--threads is given twice");
      llvm::StringRef value = i + 1 < argc ? argv[++i] : "";
      if (value.getAsInteger(10, options.numThreads) || options.numThreads < 1 || options.numThreads > 256)
        return usageFault("--threads is '" + value + "', expected 1 to 256");
    } else if (word.starts_with("-")) {
      return usageFault("unknown flag '" + word + "', expected --json, --threads N or --help");
    } else if (numWords == 0) {
      if (word != "verify" && word != "list")
        return usageFault("unknown command '" + word + "', expected verify or list");
      options.command = word == "verify" ? Command::Verify : Command::List;
      ++numWords;
    } else if (numWords == 1) {
      options.path = word.str();
      ++numWords;
    } else {
      return usageFault("unexpected '" + word + "' behind the pack '" + options.path + "'");
    }
  }
  if (numWords == 0)
    return usageFault("expected a command, verify or list");
  if (numWords == 1)
    return usageFault("expected the path of a pack");
  return true;
}

void printHelp() { llvm::outs() << kHelp; }

} // namespace moepack
