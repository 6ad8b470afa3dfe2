// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moec synth`. Main source: docs/command-line.md.
#include "lib/Compiler/Commands.h"
#include "lib/Compiler/RandomModels.h"

#include "lib/Support/Fault.h"

namespace moec {

Flag seedFlag(std::optional<uint64_t> &seed) {
  return number("--seed", 0, UINT64_MAX, [&seed](uint64_t value) { seed = value; });
}

Flag routingFlag(std::optional<uint32_t> &zipfThousandths) {
  return {"--routing", 1, [&zipfThousandths](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            if (values[0] == "uniform")
              return llvm::Error::success();
            zipfThousandths = parseZipf(values[0]);
            return zipfThousandths ? llvm::Error::success()
                                   : fault("is '" + values[0] +
                                           "', expects uniform or zipf:S with S from 0 to 4, at most three decimals");
          }};
}

int runSynth(llvm::ArrayRef<llvm::StringRef> words) {
  SynthOptions options;
  std::optional<uint64_t> seed;
  std::vector<std::string> positional;
  bool isQuiet = false;
  llvm::Error error = readFlags(words,
                                {seedFlag(seed), routingFlag(options.zipfThousandths), text("-o", options.output),
                                 choice("--dtype", "bf16|f16|f32", options.dtype),
                                 size("--shard-size", [&](uint64_t value) { options.shardBytes = value; }),
                                 text("--tokenizer", options.tokenizer), flag("--quiet", isQuiet)},
                                positional);
  if (!error && positional.size() != 1)
    error = fault("synth expects one CONFIG, but got " + llvm::Twine(positional.size()));
  if (!error && options.output.empty())
    error = fault("-o is missing: the folder to write");
  if (error)
    return fail(kWrongUsage, std::move(error));
  options.config = positional[0];
  options.seed = seed.value_or(0);
  if (llvm::Error failure = synthesize(options, isQuiet ? llvm::nulls() : llvm::errs()))
    return fail(kInputAtFault, std::move(failure));
  return 0;
}

} // namespace moec
