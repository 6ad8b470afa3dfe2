// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last step: descriptor, shared object and report. Main source: docs/architecture.md ("ABI").
#include "lib/Compiler/LinkStep.h"

#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/Report.h"
#include "lib/Compiler/RunFolder.h"

#include "include/moert/PlanDescriptor.h"
#include "lib/Import/GgufModel.h"
#include "lib/Import/GgufTokenizer.h"
#include "lib/Link/AndroidNdk.h"
#include "lib/Link/SharedObject.h"
#include "lib/Object/Object.h"
#include "lib/Support/Fault.h"
#include "lib/Synth/ByteTokenizer.h"
#include "lib/Tokenizer/TokenizerJson.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace moec {

namespace {

/// A file that is removed when it goes out of scope.
class ScratchFile {
public:
  ScratchFile(std::string path) : path(std::move(path)) {}
  ~ScratchFile() { llvm::sys::fs::remove(path); }
  llvm::Error write(llvm::ArrayRef<char> bytes) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code) {
      stream.write(bytes.data(), bytes.size());
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    return code ? fault("cannot write '" + path + "': " + code.message()) : llvm::Error::success();
  }
  const std::string path;
};

std::string archiveFolder(const TargetDescription &target, llvm::StringRef programFolder) {
  SmallString<256> folder(programFolder);
  llvm::sys::path::append(folder, "..", "lib", "moert", target.runtimeTriple);
  return folder.str().str();
}

class Linker {
public:
  Linker(const LinkInputs &inputs) : inputs(inputs), context() {}

  llvm::Error run(OutputTransaction &outputs);

private:
  bool isAndroid() const { return target.platform == Platform::Android; }
  llvm::Error findLibraries();
  llvm::Expected<uint64_t> linkOnce(const DescriptorContent &content, const std::string &path);

  const LinkInputs &inputs;
  MLIRContext context;
  TargetDescription target;
  std::string deviceFolder;  ///< of the target's archives
  std::string libraryFolder; ///< of the libraries to link against
};

} // namespace

llvm::Expected<std::vector<uint8_t>> tokenizerOf(ModuleOp module, uint32_t vocabSize) {
  std::string path = textOf(module, "moe.tokenizer", "path");
  if (textOf(module, "moe.tokenizer", "kind") != kByteTokenizerKind)
    return isGgufFile(path) ? buildGgufTokenizer(path, vocabSize) : buildTokenizerBlob(path, vocabSize);
  auto text = byteTokenizerJson(vocabSize);
  if (!text)
    return text.takeError();
  return buildTokenizerBlob(*text, path, vocabSize);
}

llvm::Expected<moert_plan_info> planOf(const DescriptorContent &content, uint64_t codeBytes, uint64_t budgetBytes,
                                       uint32_t expertsUsed) {
  // The arithmetic looks at sizes only; the entry points must be there.
  moert_model_descriptor descriptor = content.fixed;
  auto entry = [](moert_context *) -> int32_t { return 0; };
  descriptor.prefill = descriptor.decode = descriptor.head = entry;
  descriptor.model_name = content.modelName.c_str();
  descriptor.target_name = content.targetName.c_str();
  descriptor.num_streamed_tables = content.tables.size();
  descriptor.streamed_tables = content.tables.data();
  descriptor.tokenizer = {content.tokenizer.data(), content.tokenizer.size()};
  descriptor.plan.default_budget_bytes = budgetBytes;
  moert_open_options options{};
  options.struct_bytes = sizeof options;
  options.experts_used = expertsUsed;
  options.threads = 1; // the runtime makes room for more at the same size
  moert_plan_info info{};
  moert_error error{};
  if (moert_plan_descriptor(&descriptor, &options, codeBytes, &info, &error) != MOERT_STATUS_OK)
    return fault(error.message);
  return info;
}

llvm::Error checkRuntime(const TargetDescription &target, llvm::StringRef programFolder) {
  std::string archive = archiveFolder(target, programFolder) + "/libmoert.a";
  if (llvm::sys::fs::exists(archive))
    return llvm::Error::success();
  return fault("target '" + target.name + "' needs the runtime for " + target.runtimeTriple + ", but there is no '" +
               archive + "'; build it, or choose another platform with NAME@linux-gnu or NAME@android");
}

llvm::Error Linker::findLibraries() {
  deviceFolder = archiveFolder(target, inputs.programFolder);
  libraryFolder = deviceFolder + "/stubs";
  if (inputs.ndk.empty())
    return llvm::Error::success();
  if (!isAndroid())
    return fault("--ndk is for Android targets, but '" + target.name + "' is for " + nameOf(target.platform));
  auto libraries = findNdkLibraries(inputs.ndk, target.runtimeTriple);
  if (!libraries)
    return fault("--ndk: " + llvm::toString(libraries.takeError()));
  libraryFolder = *libraries;
  return llvm::Error::success();
}

llvm::Expected<uint64_t> Linker::linkOnce(const DescriptorContent &content, const std::string &path) {
  DialectRegistry registry;
  registerObjectTranslations(registry);
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = buildDescriptorModule(context, content);
  // Code that is not a kernel is compiled for the baseline: it runs before the CPU's features are checked.
  auto bytes = emitObject(*module, {target.triple, target.cpu, ""});
  if (!bytes)
    return bytes.takeError();
  ScratchFile code(path + ".code.o"), descriptor(path + ".descriptor.o");
  if (llvm::Error error = code.write(inputs.object))
    return std::move(error);
  if (llvm::Error error = descriptor.write(*bytes))
    return std::move(error);
  std::vector<std::string> objects{code.path, descriptor.path};
  SharedObjectInputs link{objects, deviceFolder + "/libmoert.a", libraryFolder,
                          llvm::sys::path::filename(inputs.prefix).str() + ".so"};
  if (llvm::Error error = linkSharedObject(link, path))
    return std::move(error);
  return mappedBytes(path);
}

llvm::Error Linker::run(OutputTransaction &outputs) {
  auto described = recordedTarget(inputs.module);
  if (!described)
    return described.takeError();
  target = std::move(*described);
  if (llvm::Error error = findLibraries())
    return error;
  DescriptorContent content = describeModule(inputs.module);
  content.fixed.features_required = target.featuresRequired;
  content.fixed.layout_family = static_cast<uint32_t>(target.layoutFamily());
  content.tables = inputs.pack.tables;
  llvm::copy(inputs.pack.plan.planId().toBytes(), content.fixed.plan_id);
  llvm::copy(inputs.weightsId.toBytes(), content.fixed.weights_id);
  auto tokenizer = tokenizerOf(inputs.module, content.fixed.vocab_size);
  if (!tokenizer)
    return tokenizer.takeError();
  content.tokenizer = std::move(*tokenizer);
  if (inputs.chatRefusal)
    *inputs.chatRefusal = chatRefusal(content.tokenizer);
  // A chat ends where the model ends its message, also where generation_config.json does not say so.
  if (std::optional<uint32_t> stop = chatStopId(content.tokenizer);
      stop && !llvm::is_contained(content.stopIds, static_cast<int32_t>(*stop)))
    content.stopIds.push_back(static_cast<int32_t>(*stop));
  auto shared = outputs.add(inputs.prefix + ".so");
  if (!shared)
    return shared.takeError();
  // The report stands in the library and counts its mapped bytes: link with a report of the same length first.
  uint64_t budget = content.fixed.plan.default_budget_bytes, codeBytes = 0;
  for (int round = 0; round < 3; ++round) {
    auto info = planOf(content, codeBytes, budget);
    if (!info)
      return fault((budget ? "--memory: " : "") + llvm::toString(info.takeError()));
    content.reportJson = writeReport(inputs.module, inputs.pack.plan, *info, content, target);
    auto mapped = linkOnce(content, (*shared)->temporaryPath());
    if (!mapped)
      return mapped.takeError();
    if (*mapped == codeBytes)
      break;
    codeBytes = *mapped;
  }
  if (isAndroid())
    if (llvm::Error error = writeRunFolder(
            {inputs.prefix, (*shared)->temporaryPath(), inputs.packPath, deviceFolder, libraryFolder}, outputs))
      return error;
  auto report = outputs.add(inputs.prefix + ".report.json");
  return report ? (*report)->write(content.reportJson + "\n") : report.takeError();
}

llvm::Error linkModel(const LinkInputs &inputs, OutputTransaction &outputs) { return Linker(inputs).run(outputs); }

llvm::Expected<std::string> sectionText(llvm::StringRef bytes, llvm::StringRef file, llvm::StringRef name) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, file));
  if (!object)
    return fault("'" + file + "' is no object file: " + llvm::toString(object.takeError()));
  for (const llvm::object::SectionRef &section : (*object)->sections()) {
    auto found = section.getName();
    if (!found)
      return found.takeError();
    if (*found != name)
      continue;
    auto content = section.getContents();
    if (!content)
      return content.takeError();
    return content->str();
  }
  return fault("'" + file + "' has no section " + name + "; it was not written by moec compile --to object");
}

llvm::Expected<Digest128> packIdentity(llvm::StringRef path, const Digest128 &planId) {
  auto file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  moepack_header header{};
  if (llvm::Error error = file->read(0, llvm::MutableArrayRef(reinterpret_cast<uint8_t *>(&header), sizeof header)))
    return std::move(error);
  std::array<uint8_t, 16> plan, weights;
  llvm::copy(header.plan_id, plan.begin());
  llvm::copy(header.weights_id, weights.begin());
  if (std::memcmp(header.magic, MOEPACK_MAGIC, sizeof header.magic) != 0)
    return fault("'" + path + "' is not a pack: it does not start with " MOEPACK_MAGIC);
  if (!(Digest128::fromBytes(plan) == planId))
    return fault("'" + path + "' is the pack of another model: its plan is " + Digest128::fromBytes(plan).toHex() +
                 ", expected " + planId.toHex());
  return Digest128::fromBytes(weights);
}

} // namespace moec
