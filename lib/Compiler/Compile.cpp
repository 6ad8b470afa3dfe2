// SPDX-License-Identifier: Apache-2.0
/// \file
/// The line from checkpoint to `.so`. Main source: passes/Phases.def.
#include "lib/Compiler/Compile.h"

#include "lib/Compiler/LinkStep.h"
#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/PackStep.h"
#include "lib/Compiler/PrecisionStep.h"
#include "lib/Compiler/RandomModels.h"
#include "lib/Compiler/RunFolder.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Import/GraphBuilder.h"
#include "lib/Object/Object.h"
#include "lib/Plan/KvLayout.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Sizes.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/quantize/PrecisionRecord.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace mlir;

namespace moec {

namespace {

/// Section of an object file that keeps the module's metadata, so that pack and link can resume from the object alone.
constexpr llvm::StringRef kMetadataSection = ".moec.module";

/// Folders that this compile makes; they go again if no output comes to lie in them.
struct NewFolders {
  std::vector<std::string> paths;
  ~NewFolders() {
    for (const std::string &path : paths)
      llvm::sys::fs::remove(path); // refuses a folder that holds something
  }
};

class Compiler {
public:
  Compiler(const CompileOptions &options, llvm::StringRef programFolder, llvm::raw_ostream &progress)
      : options(options), programFolder(programFolder), progress(progress) {
    DialectRegistry registry;
    registerDialects(registry);
    registerLLVMPipelineDialects(registry);
    registerObjectTranslations(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  llvm::Error run();
  llvm::Error plan(llvm::function_ref<llvm::Error(ModuleOp)> inspect);
  llvm::Expected<std::string> planPrecision();

private:
  /// One target's way through the steps.
  struct Build {
    OwningOpRef<ModuleOp> module;
    SmallVector<char, 0> object;
    std::string prefix;
    bool isResumedPack = false;
  };

  bool isWanted(Phase phase) const {
    return (!options.from || phase > *options.from) && (!options.to || phase <= *options.to);
  }
  llvm::Expected<Checkpoint> openModel();
  llvm::Expected<OwningOpRef<ModuleOp>> importModel(const TargetDescription &target);
  llvm::Expected<Build> resume();
  /// A build for each target, at the end of the import step.
  llvm::Expected<std::vector<Build>> begin();
  llvm::Error runPasses(Build &build, Phase phase);
  llvm::Error emit(Build &build);
  llvm::Error writeStep(const Build &build, Phase phase);
  llvm::Error packAndLink(std::vector<Build> &builds);
  llvm::Expected<Digest128> writePackOf(Build &build, PackPlanOfModule &pack, const std::string &path);
  /// Warnings are no progress: --quiet does not silence them.
  void say(llvm::StringRef step, const llvm::Twine &text) {
    if (!options.isQuiet || step == "warning")
      progress << "moec: " << llvm::left_justify(step, 9) << text << "\n";
  }

  const CompileOptions &options;
  std::string programFolder;
  llvm::raw_ostream &progress;
  MLIRContext context;
  NewFolders newFolders; // outlives what lies in them
  OutputTransaction outputs;
  bool isPlanOnly = false; ///< nothing is written, so sources need no hashes
};

} // namespace

llvm::Expected<Checkpoint> Compiler::openModel() {
  if (!options.isRandom)
    return Checkpoint::open(options.model, options.isStrict);
  auto model = readRandomModel(options.model);
  if (!model)
    return model.takeError();
  model->seed = options.seed;
  model->zipfThousandths = options.zipfThousandths;
  model->numThreads = options.threads;
  model->isHashed = !isPlanOnly;
  if (!options.tokenizer.empty())
    model->tokenizer = options.tokenizer;
  return Checkpoint::random(*model);
}

llvm::Expected<OwningOpRef<ModuleOp>> Compiler::importModel(const TargetDescription &target) {
  auto checkpoint = openModel();
  if (!checkpoint)
    return checkpoint.takeError();
  for (const std::string &warning : checkpoint->warnings())
    say("warning", warning);
  for (const std::string &note : checkpoint->notes())
    say("note", note);
  for (const std::string &option : checkpoint->generation().ignored)
    say("warning", "generation_config.json: " + option + ", which the sampler does not do; it is left out");
  uint64_t longest = checkpoint->config().maxPositionEmbeddings;
  if (options.context.value_or(0) > longest)
    return fault("--context is " + llvm::Twine(*options.context) + ", expects 1 to " + llvm::Twine(longest) +
                 " (max_position_embeddings in config.json)");
  // The interpreter runs any head; said here, where the file and its field are known.
  if (uint64_t dim = checkpoint->config().headDim; isWanted(Phase::Plan) && dim % 8 != 0)
    return fault((options.isRandom ? options.model : checkpoint->files().front().name) + ": head_dim is " +
                 llvm::Twine(dim) + ", expects a multiple of 8 up to " + llvm::Twine(kKvLargestDim) +
                 " (without the field it is hidden_size / num_attention_heads)");
  GraphOptions graph;
  graph.context = options.context.value_or(0);
  graph.maxChunk = options.chunk;
  graph.window = options.window.value_or(0);
  graph.sinks = options.sinks.value_or(0);
  auto module = buildModelModule(context, *checkpoint, graph);
  if (!module)
    return module.takeError();
  recordOptions(**module, options);
  recordTarget(**module, target);
  moe::setRules(**module, options.rules);
  return module;
}

llvm::Expected<Compiler::Build> Compiler::resume() {
  Build build;
  build.prefix = options.output;
  llvm::StringRef file = options.fromFile;
  if (*options.from < Phase::Object) {
    auto module = readModule(context, file);
    if (!module)
      return module.takeError();
    build.module = std::move(*module);
  } else {
    std::string object = file.str();
    if (*options.from >= Phase::Pack) {
      SmallString<256> path(file);
      llvm::sys::path::replace_extension(path, ".o");
      object = path.str().str();
      build.isResumedPack = true;
    }
    auto bytes = readTextFile(object, uint64_t(1) << 31);
    if (!bytes)
      return bytes.takeError();
    auto text = sectionText(*bytes, object, kMetadataSection);
    if (!text)
      return text.takeError();
    auto module = parseModule(context, *text, object);
    if (!module)
      return module.takeError();
    build.module = std::move(*module);
    build.object.assign(bytes->begin(), bytes->end());
  }
  if (llvm::Error error = checkResumed(*build.module, options, file))
    return std::move(error);
  say("check", "sources of " + file);
  if (llvm::Error error = checkSources(*build.module))
    return std::move(error);
  return build;
}

llvm::Error Compiler::runPasses(Build &build, Phase phase) {
  DiagnosticCollector diagnostics(context);
  PassManager manager(&context);
  buildPhasePipeline(manager, phase);
  if (failed(manager.run(*build.module)))
    return diagnostics.take(("the " + phaseName(phase) + " step failed").str());
  return llvm::Error::success();
}

llvm::Error Compiler::emit(Build &build) {
  auto target = recordedTarget(*build.module);
  if (!target)
    return target.takeError();
  DiagnosticCollector diagnostics(context);
  OwningOpRef<ModuleOp> code = build.module->clone();
  for (auto weight : llvm::make_early_inc_range(code->getOps<moe::WeightOp>()))
    weight.erase();
  SmallVector<StringAttr> names;
  for (NamedAttribute attribute : (*code)->getAttrs())
    names.push_back(attribute.getName());
  for (StringAttr name : names)
    (*code)->removeAttr(name);
  ObjectOptions object{target->triple, target->cpu, target->features, kMetadataSection.str(),
                       printMetadata(*build.module)};
  auto bytes = emitObject(*code, object);
  if (!bytes) {
    llvm::Error error = bytes.takeError();
    return llvm::joinErrors(std::move(error), diagnostics.take("code generation failed"));
  }
  build.object = std::move(*bytes);
  return llvm::Error::success();
}

llvm::Error Compiler::writeStep(const Build &build, Phase phase) {
  bool isLast = options.to == phase;
  std::string text =
      phase < Phase::Object ? printModule(*build.module) : std::string(build.object.begin(), build.object.end());
  auto write = [&](const std::string &path) -> llvm::Error {
    auto file = outputs.add(path);
    return file ? (*file)->write(text) : file.takeError();
  };
  if (isLast)
    if (llvm::Error error =
            write(phase == Phase::Object ? build.prefix + ".o" : build.prefix + "." + phaseName(phase).str() + ".mlir"))
      return error;
  if (options.dumpFolder.empty())
    return llvm::Error::success();
  if (std::error_code code = llvm::sys::fs::create_directories(options.dumpFolder))
    return fault("cannot make the folder '" + options.dumpFolder + "' (--dump-phases-to): " + code.message());
  std::string stem = llvm::sys::path::filename(build.prefix).str();
  std::string number = std::to_string(static_cast<int>(phase) + 1);
  std::string name =
      phase == Phase::Object ? stem + ".o" : number + "-" + stem + "." + phaseName(phase).str() + ".mlir";
  return write(options.dumpFolder + "/" + name);
}

/// Whether something has this name, be it a symbolic link to nowhere.
static bool isThere(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status, /*follow=*/false);
}

/// Says that a disk is too small before the pack is written rather than after.
static llvm::Error checkRoom(llvm::StringRef path, uint64_t neededBytes) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  auto space = llvm::sys::fs::disk_space(folder.empty() ? llvm::StringRef(".") : folder);
  // Some network file systems say 0; a missing folder has its own message.
  if (!space || space->available == 0 || space->available >= neededBytes)
    return llvm::Error::success();
  return fault("cannot write '" + path + "': it needs " + formatSizeExact(neededBytes) + ", but the folder has " +
               formatSizeExact(space->available) + " free");
}

llvm::Expected<Digest128> Compiler::writePackOf(Build &build, PackPlanOfModule &pack, const std::string &path) {
  for (auto weight : build.module->getOps<moe::WeightOp>())
    if (moe::tiedHeadOf(weight) && !moe::isHeadEmbedding(weight))
      say("note", "'" + weight.getLabel() +
                      "' is stored twice: the embedding has another encoding than the head, to which "
                      "it is tied");
  say("pack", path + ", " + formatSize(pack.plan.header().total_bytes));
  if (llvm::Error error = checkRoom(path, pack.plan.header().total_bytes))
    return std::move(error);
  PackWriteOptions write;
  write.numThreads = options.threads;
  int shown = 0;
  write.progress = [&](uint64_t done, uint64_t total) {
    int tenth = total ? static_cast<int>(done * 10 / total) : 10;
    if (tenth > shown && total > (uint64_t(64) << 20))
      say("pack", llvm::Twine(tenth * 10) + " %");
    shown = std::max(shown, tenth);
  };
  auto result = writePack(pack.plan, *pack.source, path, outputs, write);
  if (!result)
    return result.takeError();
  return result->weightsId;
}

llvm::Error Compiler::packAndLink(std::vector<Build> &builds) {
  std::map<LayoutFamily, std::pair<std::string, Digest128>> packs;
  std::vector<LayoutFamily> families;
  for (Build &build : builds)
    families.push_back(textOf(*build.module, "moe.target", "family") == "arm64" ? LayoutFamily::Arm64
                                                                                : LayoutFamily::X86);
  bool hasBoth = llvm::is_contained(families, LayoutFamily::Arm64) && llvm::is_contained(families, LayoutFamily::X86);
  for (auto [build, family] : llvm::zip_equal(builds, families)) {
    auto pack = planPack(*build.module, options.partBytes);
    if (!pack)
      return pack.takeError();
    Digest128 weightsId;
    if (build.isResumedPack) {
      auto existing = packIdentity(options.fromFile, pack->plan.planId());
      if (!existing)
        return existing.takeError();
      weightsId = *existing;
    } else if (auto found = packs.find(family); found != packs.end()) {
      weightsId = found->second.second;
    } else {
      std::string path =
          !options.pack.empty()
              ? options.pack
              : options.output + (hasBoth ? family == LayoutFamily::Arm64 ? ".arm64" : ".x86" : "") + ".moepack";
      auto written = writePackOf(build, *pack, path);
      if (!written)
        return written.takeError();
      packs[family] = {path, *written};
      weightsId = *written;
    }
    if (!isWanted(Phase::Link)) {
      // The object stays beside the pack: link resumes from both.
      auto file = outputs.add(build.prefix + ".o");
      if (llvm::Error error =
              file ? (*file)->write(llvm::StringRef(build.object.data(), build.object.size())) : file.takeError())
        return error;
      continue;
    }
    say("link", build.prefix + ".so");
    std::string packPath = build.isResumedPack ? options.fromFile : packs[family].first;
    LinkInputs inputs{*build.module, build.object, *pack,       weightsId,
                      build.prefix,  packPath,     options.ndk, programFolder};
    std::string chatRefusal;
    inputs.chatRefusal = &chatRefusal;
    if (std::string folder = runFolderOf(build.prefix); !isThere(folder))
      newFolders.paths.push_back(folder);
    if (llvm::Error error = linkModel(inputs, outputs))
      return error;
    if (!chatRefusal.empty())
      say("warning", "there will be no chats (moe-run --chat): " + chatRefusal);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Compiler::Build>> Compiler::begin() {
  std::vector<TargetDescription> targets;
  for (const std::string &name : options.targets) {
    auto target = lookupTarget(name);
    if (!target)
      return target.takeError();
    targets.push_back(std::move(*target));
  }
  say("import", options.model);
  auto module = importModel(targets.front());
  if (!module)
    return module.takeError();
  std::vector<Build> builds;
  SmallVector<ModuleOp> modules;
  for (size_t index = 0; index < targets.size(); ++index) {
    Build build;
    build.module = (*module)->clone();
    recordTarget(*build.module, targets[index]);
    build.prefix = options.output + (targets.size() > 1 ? "." + options.targets[index] : "");
    modules.push_back(*build.module);
    builds.push_back(std::move(build));
  }
  if (options.packBytes) {
    say("quantize", "precision for a pack of at most " + formatSize(*options.packBytes));
    if (llvm::Error error = fitPackSize(modules, options))
      return std::move(error);
  }
  return builds;
}

llvm::Error Compiler::run() {
  std::vector<Build> builds;
  if (options.from) {
    auto build = resume();
    if (!build)
      return build.takeError();
    builds.push_back(std::move(*build));
  } else if (llvm::Error error = begin().moveInto(builds)) {
    return error;
  }
  if (isWanted(Phase::Link))
    for (Build &build : builds) {
      auto target = recordedTarget(*build.module);
      if (!target)
        return target.takeError();
      if (llvm::Error error = checkRuntime(*target, programFolder))
        return error;
    }
  for (Phase phase :
       {Phase::Import, Phase::Graph, Phase::Quantize, Phase::Fuse, Phase::Plan, Phase::Lower, Phase::Object}) {
    if (!isWanted(phase))
      continue;
    for (Build &build : builds) {
      say(phaseName(phase), build.prefix + " for " + textOf(*build.module, "moe.target", "name"));
      if (llvm::Error error = phase == Phase::Object ? emit(build) : runPasses(build, phase))
        return error;
      if (llvm::Error error = writeStep(build, phase))
        return error;
    }
  }
  if (isWanted(Phase::Pack) || isWanted(Phase::Link))
    if (llvm::Error error = packAndLink(builds))
      return error;
  return outputs.commit();
}

llvm::Error Compiler::plan(llvm::function_ref<llvm::Error(ModuleOp)> inspect) {
  isPlanOnly = true;
  auto builds = begin();
  if (!builds)
    return builds.takeError();
  for (Phase phase : {Phase::Import, Phase::Graph, Phase::Quantize, Phase::Fuse, Phase::Plan})
    if (llvm::Error error = runPasses(builds->front(), phase))
      return error;
  return inspect(*builds->front().module);
}

llvm::Error planRandomModel(const CompileOptions &options, llvm::function_ref<llvm::Error(ModuleOp)> inspect) {
  CompileOptions complete = options;
  if (llvm::Error error = readPlanFile(complete))
    return error;
  return Compiler(complete, "", llvm::nulls()).plan(inspect);
}

llvm::Expected<std::string> Compiler::planPrecision() {
  auto builds = begin();
  if (!builds)
    return builds.takeError();
  for (Phase phase : {Phase::Import, Phase::Graph, Phase::Quantize})
    if (llvm::Error error = runPasses(builds->front(), phase))
      return std::move(error);
  return writePlanOf(*builds->front().module);
}

llvm::Error compile(const CompileOptions &options, llvm::StringRef programFolder, llvm::raw_ostream &progress) {
  CompileOptions complete = options;
  if (llvm::Error error = readPlanFile(complete))
    return error;
  return Compiler(complete, programFolder, progress).run();
}

llvm::Expected<std::string> planPrecision(const CompileOptions &options, llvm::raw_ostream &progress) {
  CompileOptions complete = options;
  if (llvm::Error error = readPlanFile(complete))
    return std::move(error);
  return Compiler(complete, "", progress).planPrecision();
}

} // namespace moec
