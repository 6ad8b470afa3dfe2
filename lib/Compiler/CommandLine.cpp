// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of `moec`. Main source: docs/command-line.md.
#include "lib/Compiler/CommandLine.h"

#include "lib/Compiler/Commands.h"
#include "lib/Compiler/Compile.h"
#include "lib/Compiler/Descriptor.h"
#include "lib/Compiler/Evaluate.h"
#include "lib/Compiler/Flags.h"
#include "lib/Compiler/LinkStep.h"
#include "lib/Compiler/PrecisionStep.h"
#include "lib/Compiler/RandomModels.h"
#include "lib/Compiler/Report.h"
#include "lib/Compiler/Targets.h"

#include "lib/Quant/Presets.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Sizes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace moec {

namespace {

constexpr const char *kHelp = R"(moec: compiles Mixture-of-Experts language models ahead of time

usage:
  moec compile MODEL --target T [flags] -o OUT      writes OUT.so, OUT.moepack, OUT.report.json
  moec precision MODEL [flags] [-o FILE]            the precision of every tensor, as a file for --plan-precision
  moec report OUT.so [--json]                       memory plan and precision of a compiled model
  moec evaluate OUT.so (--text FILE | --ids FILE.json) [--window N] [--max-tokens N] [--reference REF.so]
                [--experts-used K | --experts-used-sweep] [--json]
  moec targets [--json]                             lists the names for --target
  moec synth CONFIG --seed N -o DIR [flags]         writes a checkpoint of random weights
  moec estimate CONFIG --target T [flags] [--json]  sizes and speed of a model from its config alone
  moec simulate-cache (--trace FILE | --zipf S) [flags] [--json] [--svg FILE]
                                                    which experts a budget would find in memory

flags of compile (precision takes --target, --quant, --group, --plan-precision, --quant-*, --pack-size and --quiet):
  --target T[,T]        what to compile for, see 'moec targets'; several share one pack where the layout is the same.
                        NAME@linux-gnu or NAME@android chooses the platform of an ARM64 target
  --quant PRESET        f32, f16, int8, int6, int4, int8m, int4m, mixed (default) or source: weights
  --group N             auto (default, 32), 32, 64 or 128 values share a scale
  --kv ELEM             f32, f16, int8 or int4: the KV cache; default int8; as --quant with f32 and f16
  --window N            a token sees the last N positions, its own included; default: all
  --sinks N             with --window: the first N positions are always seen; default 0
  --context N           positions of a session; default: what the model was made for
  --chunk N             most tokens in one step of prefill; default 64, up to 2048 for many experts
  --predict WHEN        code that guesses the experts of a layer: on (default, all), far (two layers before), early or
                        late in the layer before, or off; never changes the text
  --memory SIZE         default budget stored in the .so; default: everything resident
  --plan-precision FILE precision by rule and by tensor, see 'moec precision' and docs/precision.md
  --quant-role R=E      encoding E for role R, or for some layers: expert_down@0-3=i8/32; may be repeated
  --quant-tensor G=E    encoding E for tensors whose name matches the glob G; may be repeated
  --pack-size SIZE      chooses the most precise encodings with which the pack has at most SIZE
  --pack FILE           path of the pack; default OUT.moepack
  --part-size SIZE      cuts the pack into parts of at most SIZE
  --ndk DIR             Android targets: link against the libraries of this NDK (API 28 or later); default: stubs
  --threads N           threads of the pack writer; default: all cores
  --to STEP             stops after STEP and writes OUT.STEP.mlir, or OUT.o
  --from STEP FILE      starts after STEP with its result FILE, takes no MODEL
  --dump-phases-to DIR  writes the result of every step to DIR
  --strict              what is odd in the checkpoint (a tensor too many, an unused head) is an error, not a warning
  --quiet               no progress
  --random-weights      MODEL is a CONFIG; weights are generated while they are packed
  --seed N              of the generated weights; default 0
  --routing R           how generated routers use the experts of a layer: uniform (default, the worst case for paging)
                        or zipf:S, the expert of rank r about as 1 / r^S, with layers that resemble their neighbours
  --tokenizer FILE      tokenizer.json for generated weights; default: that of CONFIG's folder, or one of bytes

flags of synth:
  --seed N              the same seed gives the same bytes on every machine; default 0
  --routing R           as for compile
  --dtype TYPE          bf16 (default), f16 or f32
  --shard-size SIZE     of a safetensors file; default 4GB
  --tokenizer FILE      as for compile

flags of estimate: --target, --quant, --group, --kv, --context, --chunk, --memory as for compile, and
  --dram SIZE           bytes that the memory delivers in a second; default: what is known of the target
  --flash SIZE          bytes that the storage delivers in a second
  --routing R           uniform (default) or zipf:S: how many uses of experts then hit in the slots
  --hit-rate H          share of the uses that hit, 0 to 1, instead
  --predicted P         share of the misses whose reads begin ahead of their router, 0 to 1; default 0
  --experts-used K      experts of a token; default: all that the model uses
  --depth N             positions that a token sees; default: half of the context, or the window
  --clock F             clock of the cores as a share of their highest, 0.01 to 1
  --json                one JSON object

flags of simulate-cache:
  --trace FILE          what moe-run --trace wrote, or a uint8 array [tokens, layers, top-k] as .npy
  --zipf S              draws tokens instead: popularities 1 / rank^S; also --layers N (48), --experts N (128),
                        --top-k N (8), --tokens N (2048), --drift N (600: tokens until an expert's rank is drawn anew,
                        0: never), --seed N (1)
  --prompt N, --reply N, --chunk N
                        .npy and --zipf: tokens come as prompts, in chunks, and replies; default: all as a reply
  --experts N           .npy: experts of a layer; default: what the numbers need
  --budgets LIST        experts in memory, in percent of all; default 15,25,50,75
  --slots LIST          the same as numbers of page slots
  --svg FILE            writes a plot
  --json                one JSON object

  MODEL is a checkpoint folder or a gguf file.
  CONFIG is a config.json, a folder that holds one, a gguf file, or one of
  {CONFIGS}.
  STEP is one of import, graph, quantize, fuse, plan, lower, object, pack, link.
  SIZE: 10.5GB, 512MiB, or bytes; KB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.

examples:
  moec compile examples/demo-moe --target host -o demo
  moec compile examples/demo-moe --target arm64-dotprod,arm64-i8mm --quant int4 -o phone
  moec compile examples/demo-moe --target host --to plan -o demo && moe-opt demo.plan.mlir
  moec evaluate demo.so --text book.txt --reference demo-f32.so --json
  moec simulate-cache --zipf 1.0 --budgets 5,10,20,40,60,80 --svg hits.svg
  moec estimate qwen3-30b-a3b --target arm64-i8mm --quant int4 --memory 8GB --dram 50GB --flash 2GB
)";

Flag phaseFlag(const char *name, std::optional<Phase> &phase) {
  return {name, 1, [&phase](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            phase = parsePhase(values[0]);
            return phase ? llvm::Error::success() : fault("is '" + values[0] + "', expects one of " + phaseNames());
          }};
}

/// --from has two values: the step and the file.
Flag fromFlag(CompileOptions &options) {
  return {"--from", 2, [&options](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            options.from = parsePhase(values[0]);
            options.fromFile = values[1].str();
            if (!options.from)
              return fault("is '" + values[0] + "', expects one of " + phaseNames());
            return options.from == Phase::Link ? fault("is link, after which there is no step")
                                               : llvm::Error::success();
          }};
}

Flag presetFlag(std::string &quant) {
  return {"--quant", 1, [&quant](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            quant = values[0].str();
            return checkPreset(quant);
          }};
}

/// --quant-role and --quant-tensor.
Flag ruleFlag(const char *name, bool isTensor, std::vector<PrecisionRule> &rules) {
  return {name, 1,
          [=, &rules](llvm::ArrayRef<llvm::StringRef> values) -> llvm::Error {
            auto rule = parseRuleFlag(name, values[0], isTensor);
            if (!rule)
              return rule.takeError();
            rules.push_back(std::move(*rule));
            return llvm::Error::success();
          },
          /*isRepeatable=*/true};
}

/// The flags beside --quant and --group that say how precise the weights are.
void addPrecisionFlags(std::vector<Flag> &flags, CompileOptions &options) {
  flags.push_back(text("--plan-precision", options.planFile));
  flags.push_back(ruleFlag("--quant-role", /*isTensor=*/false, options.rules));
  flags.push_back(ruleFlag("--quant-tensor", /*isTensor=*/true, options.rules));
  flags.push_back(size("--pack-size", [&options](uint64_t value) { options.packBytes = value; }));
}

llvm::Error checkPrecision(const CompileOptions &options) {
  if (options.packBytes && !options.quant.empty())
    return fault("--pack-size chooses the precision and --quant " + options.quant + " gives it: leave one of them out");
  const char *given = !options.planFile.empty() ? "--plan-precision"
                      : options.packBytes       ? "--pack-size"
                      : !options.rules.empty()  ? "--quant-role or --quant-tensor"
                                                : nullptr;
  if (options.from && given)
    return fault(llvm::Twine(given) + " is given, but the precision stands in the file of --from: leave the flag out, "
                                      "or compile from the model");
  return llvm::Error::success();
}

llvm::Error checkCompile(const CompileOptions &options, const std::vector<std::string> &positional) {
  if (options.from && !positional.empty())
    return fault("--from takes no MODEL, but got '" + positional[0] + "'");
  if (!options.from && positional.size() != 1)
    return fault("compile expects one MODEL, but got " + llvm::Twine(positional.size()));
  if (options.output.empty())
    return fault("-o is missing: the prefix of the outputs");
  // "-o ." would write "..so", "-o folder/" the hidden "folder/.so".
  if (llvm::StringRef name = llvm::StringRef(options.output).rsplit('/').second;
      (llvm::StringRef(options.output).contains('/') && name.empty()) || name == "." || name == ".." ||
      options.output == "." || options.output == "..")
    return fault("-o is '" + options.output + "', a folder; expects the prefix of the outputs, such as folder/model");
  if (!options.from && options.targets.empty())
    return fault("--target is missing; valid values are " + llvm::join(targetNames(), ", "));
  if (options.from && options.to && *options.to <= *options.from)
    return fault("--to " + phaseName(*options.to) + " is not after --from " + phaseName(*options.from));
  for (const std::string &name : options.targets) {
    if (auto target = lookupTarget(name); !target)
      return fault("--target " + llvm::toString(target.takeError()));
    if (llvm::count(options.targets, name) > 1)
      return fault("--target names '" + name + "' twice");
  }
  if (options.from && (options.isRandom || !options.tokenizer.empty()))
    return fault("--from takes neither --random-weights nor --tokenizer: the file records the source of the weights");
  if (!options.isRandom && !options.tokenizer.empty())
    return fault("--tokenizer goes with --random-weights; a checkpoint has its own");
  if (llvm::Error error = checkPrecision(options))
    return error;
  if (options.chunk && options.context && *options.chunk > *options.context)
    return fault("--chunk is " + llvm::Twine(*options.chunk) + ", expects at most --context " +
                 llvm::Twine(*options.context));
  if (options.sinks && !options.window && !options.from)
    return fault("--sinks needs --window: without one every position is seen");
  return llvm::Error::success();
}

std::vector<std::string> splitTargets(llvm::StringRef targets) {
  llvm::SmallVector<llvm::StringRef> names;
  targets.split(names, ',', -1, /*KeepEmpty=*/false);
  return std::vector<std::string>(names.begin(), names.end());
}

int runCompile(llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef program) {
  CompileOptions options;
  std::vector<std::string> positional;
  std::string targets;
  std::optional<uint64_t> seed;
  std::vector<Flag> flags = {text("--target", targets),
                             size("--part-size", [&](uint64_t value) { options.partBytes = value; }),
                             number("--threads", 1, 256, [&](uint64_t value) { options.threads = value; }),
                             text("--pack", options.pack),
                             text("--ndk", options.ndk),
                             phaseFlag("--to", options.to),
                             fromFlag(options),
                             text("--dump-phases-to", options.dumpFolder),
                             flag("--random-weights", options.isRandom),
                             seedFlag(seed),
                             routingFlag(options.zipfThousandths),
                             text("--tokenizer", options.tokenizer),
                             choice("--predict", "on|far|early|late|off", options.predict),
                             text("-o", options.output),
                             flag("--strict", options.isStrict),
                             flag("--quiet", options.isQuiet)};
  llvm::append_range(flags, modelFlags(options));
  if (llvm::Error error = readFlags(words, flags, positional))
    return fail(kWrongUsage, std::move(error));
  if (seed && !options.isRandom)
    return fail(kWrongUsage, fault("--seed goes with --random-weights"));
  if (options.zipfThousandths && !options.isRandom)
    return fail(kWrongUsage, fault("--routing goes with --random-weights"));
  options.seed = seed.value_or(0);
  options.targets = splitTargets(targets);
  if (llvm::Error error = checkCompile(options, positional))
    return fail(kWrongUsage, std::move(error));
  if (!positional.empty())
    options.model = positional[0];
  if (llvm::Error error = compile(options, llvm::sys::path::parent_path(program), llvm::errs()))
    return fail(kInputAtFault, std::move(error));
  return 0;
}

int runPrecision(llvm::ArrayRef<llvm::StringRef> words) {
  CompileOptions options;
  std::vector<std::string> positional;
  std::string targets = "host", output;
  std::vector<Flag> flags = {text("--target", targets), presetFlag(options.quant),
                             choice("--group", "auto|32|64|128", options.group), text("-o", output),
                             flag("--quiet", options.isQuiet)};
  addPrecisionFlags(flags, options);
  llvm::Error error = readFlags(words, flags, positional);
  if (!error && positional.size() != 1)
    error = fault("precision expects one MODEL, but got " + llvm::Twine(positional.size()));
  if (!error)
    error = checkPrecision(options);
  options.targets = splitTargets(targets);
  for (const std::string &name : options.targets)
    if (!error)
      if (auto target = lookupTarget(name); !target)
        error = fault("--target " + llvm::toString(target.takeError()));
  if (!error && options.targets.empty())
    error = fault("--target is empty, expects names of 'moec targets'");
  if (error)
    return fail(kWrongUsage, std::move(error));
  options.model = positional[0];
  auto plan = planPrecision(options, llvm::errs());
  if (!plan)
    return fail(kInputAtFault, plan.takeError());
  if (output.empty()) {
    llvm::outs() << *plan;
    return 0;
  }
  OutputTransaction outputs;
  auto file = outputs.add(output);
  error = file ? (*file)->write(*plan) : file.takeError();
  if (!error)
    error = outputs.commit();
  return error ? fail(kInputAtFault, std::move(error)) : 0;
}

int runReport(llvm::ArrayRef<llvm::StringRef> words) {
  std::vector<std::string> positional;
  bool isJson = false;
  llvm::Error error = readFlags(words, {flag("--json", isJson)}, positional);
  if (!error && positional.size() != 1)
    error = fault("report expects one OUT.so, but got " + llvm::Twine(positional.size()));
  if (error)
    return fail(kWrongUsage, std::move(error));
  auto bytes = readTextFile(positional[0], uint64_t(1) << 31);
  if (!bytes)
    return fail(kInputAtFault, bytes.takeError());
  auto report = sectionText(*bytes, positional[0], kReportSection);
  if (!report)
    return fail(kInputAtFault,
                fault("'" + positional[0] + "' is no compiled model: " + llvm::toString(report.takeError())));
  llvm::StringRef json = llvm::StringRef(*report).rtrim('\0');
  auto lines = formatReport(json);
  if (!lines)
    return fail(kInputAtFault, lines.takeError());
  llvm::outs() << (isJson ? json.str() + "\n" : *lines);
  return 0;
}

llvm::Expected<std::vector<EvaluateResult>> evaluateOnce(const EvaluateOptions &options, llvm::raw_ostream &progress) {
  auto result = evaluate(options, progress);
  if (!result)
    return result.takeError();
  return std::vector{*result};
}

int runEvaluate(llvm::ArrayRef<llvm::StringRef> words) {
  EvaluateOptions options;
  std::vector<std::string> positional;
  bool isJson = false, isQuiet = false, isSweep = false;
  std::vector<Flag> flags = {
      text("--text", options.textFile),
      text("--ids", options.idsFile),
      number("--window", 2, uint64_t(1) << 22, [&](uint64_t value) { options.window = value; }),
      number("--max-tokens", 2, uint64_t(1) << 40, [&](uint64_t value) { options.maxTokens = value; }),
      number("--threads", 1, 64, [&](uint64_t value) { options.threads = value; }),
      number("--experts-used", 1, 1024, [&](uint64_t value) { options.expertsUsed = value; }),
      flag("--experts-used-sweep", isSweep),
      text("--reference", options.reference),
      text("--pack", options.modelPack),
      text("--reference-pack", options.referencePack),
      flag("--json", isJson),
      flag("--quiet", isQuiet)};
  llvm::Error error = readFlags(words, flags, positional);
  if (!error && positional.size() != 1)
    error = fault("evaluate expects one OUT.so, but got " + llvm::Twine(positional.size()));
  if (!error && options.textFile.empty() == options.idsFile.empty())
    error = fault("evaluate expects --text FILE or --ids FILE.json, one of them");
  if (!error && isSweep && options.expertsUsed)
    error = fault("--experts-used and --experts-used-sweep exclude each other");
  if (error)
    return fail(kWrongUsage, std::move(error));
  options.model = positional[0];
  llvm::raw_ostream &progress = isQuiet ? llvm::nulls() : llvm::errs();
  auto results = isSweep ? evaluateExpertsUsed(options, progress) : evaluateOnce(options, progress);
  if (!results)
    return fail(kInputAtFault, results.takeError());
  if (isJson) {
    llvm::outs() << writeEvaluation(*results) << "\n";
    return 0;
  }
  for (const EvaluateResult &result : *results) {
    llvm::outs() << "perplexity " << result.perplexity << " over " << result.positions << " positions, with "
                 << result.expertsUsed << " of " << result.expertsPerToken << " experts\n";
    if (result.hasReference)
      llvm::outs() << "KL divergence " << result.klMean << " (p99 " << result.klP99 << "), same top-1 "
                   << result.top1Agreement << "\n";
  }
  return 0;
}

int runTargets(llvm::ArrayRef<llvm::StringRef> words) {
  std::vector<std::string> positional;
  bool isJson = false;
  llvm::Error error = readFlags(words, {flag("--json", isJson)}, positional);
  if (!error && !positional.empty())
    error = fault("targets takes no '" + positional[0] + "'");
  if (error)
    return fail(kWrongUsage, std::move(error));
  llvm::outs() << (isJson ? listTargetsAsJson() + "\n" : listTargets());
  return 0;
}

} // namespace

/// Names from files may hold anything: control characters of a message are shown, not sent to the terminal.
static std::string printable(llvm::StringRef text) {
  std::string result;
  for (char character : text) {
    if (llvm::isPrint(character) || character == '\n' || static_cast<unsigned char>(character) >= 0x80)
      result += character;
    else
      result += "\\x" + llvm::toHex(llvm::StringRef(&character, 1), /*LowerCase=*/true);
  }
  return result;
}

int fail(int code, llvm::Error error) {
  llvm::errs() << "error: " << printable(llvm::toString(std::move(error))) << "\n";
  if (code == kWrongUsage)
    llvm::errs() << "run 'moec --help' for the usage\n";
  return code;
}

std::vector<Flag> modelFlags(CompileOptions &options) {
  constexpr uint64_t kMaxContext = uint64_t(1) << 22, kMaxChunk = 4096;
  std::vector<Flag> flags = {
      presetFlag(options.quant),
      choice("--group", "auto|32|64|128", options.group),
      choice("--kv", "f32|f16|int8|int4", options.kv),
      number("--context", 1, kMaxContext, [&options](uint64_t value) { options.context = value; }),
      number("--window", 1, kMaxContext, [&options](uint64_t value) { options.window = value; }),
      number("--sinks", 0, kMaxContext, [&options](uint64_t value) { options.sinks = value; }),
      number("--chunk", 1, kMaxChunk, [&options](uint64_t value) { options.chunk = value; }),
      size("--memory", [&options](uint64_t value) { options.memoryBytes = value; })};
  addPrecisionFlags(flags, options);
  return flags;
}

namespace {

int runWords(llvm::ArrayRef<llvm::StringRef> words, const char *program) {
  llvm::ArrayRef<llvm::StringRef> rest = words;
  if (words.empty())
    return fail(
        kWrongUsage,
        fault(
            "a command is missing: compile, precision, report, evaluate, targets, synth, estimate or simulate-cache"));
  if (llvm::any_of(words, [](llvm::StringRef word) { return word == "--help" || word == "-h"; }) ||
      words[0] == "help") {
    auto [before, after] = llvm::StringRef(kHelp).split("{CONFIGS}");
    llvm::outs() << before << llvm::join(builtInConfigNames(), ", ") << after;
    return 0;
  }
  if (words[0] == "--version") {
    llvm::outs() << compilerVersion() << "\n";
    return 0;
  }
  rest = rest.drop_front();
  if (words[0] == "compile")
    return runCompile(rest, llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&runCommandLine)));
  if (words[0] == "precision")
    return runPrecision(rest);
  if (words[0] == "report")
    return runReport(rest);
  if (words[0] == "evaluate")
    return runEvaluate(rest);
  if (words[0] == "targets")
    return runTargets(rest);
  if (words[0] == "synth")
    return runSynth(rest);
  if (words[0] == "simulate-cache")
    return runSimulateCache(rest);
  if (words[0] == "estimate")
    return runEstimate(rest);
  return fail(kWrongUsage, fault("unknown command '" + words[0] +
                                 "'; valid commands are compile, precision, report, evaluate, targets, "
                                 "synth, estimate, simulate-cache"));
}

} // namespace

int runCommandLine(int argc, char **argv) {
  std::vector<llvm::StringRef> words(argv + 1, argv + argc);
  int code = runWords(words, argv[0]);
  if (llvm::Error error = flushStandardOutput())
    return fail(kInputAtFault, std::move(error));
  return code;
}

} // namespace moec
