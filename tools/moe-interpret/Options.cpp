// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads the command line of `moe-interpret`.
#include "tools/moe-interpret/Options.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

namespace moec {

const char *const kInterpretHelp = R"(usage: moe-interpret FILE.mlir [options]

Runs a module of level L1 or L2 with the reference interpreter: plain loops that give every moe operation its meaning.
A module with @prefill, @decode and @head is a model: the ids are fed, then the most likely tokens, and the ids of the
latter are printed. In any other module the function without arguments is called and its results are printed; caches
and states as arguments start empty and zero.

options:
  --ids 1,2,3        token ids of the prompt; needed for a model
  --greedy N         tokens to generate, 0 to 1000000 (default 1); stop tokens do not stop
  --logits FILE.npy  write a float32 row of logits for every token fed: the prompt and all generated but the last
  --experts-used K   routers use their K best experts only, as moe-run --experts-used
  --entry @NAME      call this function, which has no arguments but caches and states
  --check-hashes     compare the hashes of the weight files with the module's
  --help             show this text

exit codes: 0 right, 1 the input is at fault, 2 wrong usage

examples:
  moec compile examples/demo-moe --target host --quant f32 --to import -o demo
  moe-interpret demo.import.mlir --ids 46,1316,584,258,579 --greedy 16
  moe-interpret demo.import.mlir --ids 46,1316 --greedy 0 --logits logits.npy
  moe-interpret norm.mlir --entry @norm
)";

static llvm::Expected<std::vector<int32_t>> parseIds(llvm::StringRef text) {
  std::vector<int32_t> ids;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    int32_t id;
    if (part.trim().getAsInteger(10, id) || id < 0)
      return fault("--ids expects token ids from 0 separated by commas, such as 1,2,3, but got '" + text + "'");
    ids.push_back(id);
  }
  return ids;
}

/// Sets what the flag with a value says. Error: an unknown flag, a wrong value.
static llvm::Error setValue(InterpretOptions &options, llvm::StringRef flag, llvm::StringRef value) {
  if (flag == "--ids") {
    llvm::Expected<std::vector<int32_t>> ids = parseIds(value);
    if (!ids)
      return ids.takeError();
    options.ids = std::move(*ids);
  } else if (flag == "--greedy") {
    if (value.getAsInteger(10, options.numGreedy) || options.numGreedy > 1000000)
      return fault("--greedy expects a number from 0 to 1000000, but got '" + value + "'");
  } else if (flag == "--experts-used") {
    if (value.getAsInteger(10, options.expertsUsed) || options.expertsUsed == 0 || options.expertsUsed > 1024)
      return fault("--experts-used expects a number from 1 to 1024, but got '" + value + "'");
  } else if (flag == "--logits") {
    options.logitsFile = value.str();
  } else {
    options.entry = value.ltrim('@').str();
  }
  return llvm::Error::success();
}

llvm::Expected<InterpretOptions> parseInterpretOptions(llvm::ArrayRef<const char *> arguments) {
  InterpretOptions options;
  llvm::StringSet<> seen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef flag = arguments[i];
    if (flag == "--help" || flag == "-h") {
      options.showsHelp = true;
      return options;
    }
    if (flag.starts_with("-") && !seen.insert(flag).second)
      return fault(flag + " is given twice");
    if (flag == "--check-hashes") {
      options.checksHashes = true;
    } else if (flag == "--ids" || flag == "--greedy" || flag == "--logits" || flag == "--experts-used" ||
               flag == "--entry") {
      if (++i == arguments.size())
        return fault(flag + " expects a value");
      if (llvm::Error error = setValue(options, flag, arguments[i]))
        return error;
    } else if (flag.starts_with("-")) {
      return fault("unknown flag " + flag +
                   ", expects --ids, --greedy, --logits, --experts-used, --entry, "
                   "--check-hashes or --help");
    } else if (options.file.empty()) {
      options.file = flag.str();
    } else {
      return fault("expects one file, but got '" + options.file + "' and '" + flag + "'");
    }
  }
  if (options.file.empty())
    return fault("expects a file, such as moe-interpret FILE.mlir");
  return options;
}

} // namespace moec
