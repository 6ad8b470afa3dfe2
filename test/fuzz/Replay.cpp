// SPDX-License-Identifier: Apache-2.0
/// \file
/// `fuzz-replay TARGET FILE...` gives each file to one target of the fuzzers, without libFuzzer: the regression test of
/// what the fuzzers found. A crash ends the process; the last file named on stdout did it.
#include "test/fuzz/Targets.h"

#include "lib/Support/Files.h"

#include <cstdio>
#include <map>

using namespace moec::fuzz;

int main(int argc, char **argv) {
  const std::map<std::string, void (*)(Bytes)> targets{
      {"safetensors", fuzzSafetensors}, {"gguf", fuzzGguf}, {"config", fuzzConfig},
      {"tokenizer", fuzzTokenizer},     {"pack", fuzzPack}, {"module", fuzzModule}};
  auto target = targets.find(argc > 1 ? argv[1] : "");
  if (target == targets.end()) {
    std::fprintf(stderr, "usage: fuzz-replay safetensors|gguf|config|tokenizer|pack|module FILE...\n");
    return 2;
  }
  constexpr uint64_t kMaxBytes = 64u << 20;
  for (int i = 2; i < argc; ++i) {
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);
    llvm::Expected<std::string> content = moec::readTextFile(argv[i], kMaxBytes);
    if (!content) {
      std::fprintf(stderr, "fuzz-replay: %s\n", llvm::toString(content.takeError()).c_str());
      return 1;
    }
    target->second({reinterpret_cast<const uint8_t *>(content->data()), content->size()});
  }
  return 0;
}
