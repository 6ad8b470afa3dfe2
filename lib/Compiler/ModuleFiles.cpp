// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modules as text, and what a module records about how it was made. Main source: docs/architecture.md.
#include "lib/Compiler/ModuleFiles.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Hash.h"
#include "lib/Support/ModuleText.h"
#include "lib/Support/Sizes.h"
#include "lib/Synth/ByteTokenizer.h"
#include "lib/Synth/RandomTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace moec {

//===-- Text ------------------------------------------------------------------------------------------------------===//

DiagnosticCollector::DiagnosticCollector(MLIRContext &context) : context(context) {
  handler = context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !first.empty())
      return success();
    llvm::raw_string_ostream stream(first);
    if (auto location = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      stream << location.getFilename().getValue() << ":" << location.getLine() << ":" << location.getColumn() << ": ";
    stream << diagnostic;
    return success();
  });
}

DiagnosticCollector::~DiagnosticCollector() { context.getDiagEngine().eraseHandler(handler); }

llvm::Error DiagnosticCollector::take(llvm::StringRef fallback) {
  std::string text = first.empty() ? fallback.str() : std::move(first);
  first.clear();
  return fault(text);
}

llvm::Expected<OwningOpRef<ModuleOp>> parseModule(MLIRContext &context, llvm::StringRef text, llvm::StringRef name) {
  if (llvm::Error error = checkModuleText(text, name))
    return std::move(error);
  DiagnosticCollector diagnostics(context);
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context), name);
  if (!module)
    return diagnostics.take((name + ": expects the text of a module").str());
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> readModule(MLIRContext &context, llvm::StringRef path) {
  constexpr uint64_t kMaxModuleBytes = uint64_t(1) << 30;
  auto text = readTextFile(path, kMaxModuleBytes);
  if (!text)
    return text.takeError();
  return parseModule(context, *text, path);
}

std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

std::string printMetadata(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  (*copy)->setAttrs(module->getAttrDictionary());
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  for (auto weight : module.getOps<moe::WeightOp>())
    builder.clone(*weight);
  return printModule(*copy);
}

//===-- Records ---------------------------------------------------------------------------------------------------===//

static Attribute entryOf(ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(dictionary);
  return attribute ? attribute.get(key) : Attribute();
}

int64_t integerOf(ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key) {
  auto value = dyn_cast_if_present<IntegerAttr>(entryOf(module, dictionary, key));
  return value && value.getValue().getSignificantBits() <= 64 ? value.getValue().getSExtValue() : 0;
}

int64_t contextOf(ModuleOp module) {
  int64_t capacity = integerOf(module, "rt.plan", "kv_capacity");
  auto context = module->getAttrOfType<IntegerAttr>("moe.context");
  return context && context.getInt() > 0 ? std::min(context.getInt(), capacity) : capacity;
}

std::string textOf(ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key) {
  auto value = dyn_cast_if_present<StringAttr>(entryOf(module, dictionary, key));
  return value ? value.str() : std::string();
}

double realOf(ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key) {
  auto value = dyn_cast_if_present<FloatAttr>(entryOf(module, dictionary, key));
  return value ? value.getValueAsDouble() : 0;
}

void recordOptions(ModuleOp module, const CompileOptions &options) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  auto put = [&](llvm::StringRef key, llvm::StringRef value) {
    entries.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  // A size as the target starts from int8 everywhere.
  std::string quant = !options.quant.empty() ? options.quant : options.packBytes ? "int8" : "mixed";
  put("quant", quant);
  put("group", options.group.empty() ? "auto" : options.group);
  put("kv", !options.kv.empty() ? options.kv : quant == "f32" || quant == "f16" ? quant : "int8");
  put("predict", options.predict.empty() ? "on" : options.predict);
  entries.push_back(builder.getNamedAttr(
      "memory_bytes", builder.getI64IntegerAttr(static_cast<int64_t>(options.memoryBytes.value_or(0)))));
  if (options.packBytes)
    entries.push_back(
        builder.getNamedAttr("pack_size_bytes", builder.getI64IntegerAttr(static_cast<int64_t>(*options.packBytes))));
  module->setAttr("moe.options", builder.getDictionaryAttr(entries));
}

void recordTarget(ModuleOp module, const TargetDescription &target) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  auto put = [&](llvm::StringRef key, llvm::StringRef value) {
    entries.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  put("name", target.name);
  put("isa", nameOf(target.isa));
  put("family", target.layoutFamily() == LayoutFamily::Arm64 ? "arm64" : "x86");
  put("triple", target.triple);
  put("features", target.features);
  module->setAttr("moe.target", builder.getDictionaryAttr(entries));
}

llvm::Expected<TargetDescription> recordedTarget(ModuleOp module) {
  std::string name = textOf(module, "moe.target", "name");
  if (name.empty())
    return fault("the module has no moe.target; start from a file that moec wrote");
  return lookupTarget(name);
}

llvm::Error checkResumed(ModuleOp module, const CompileOptions &options, llvm::StringRef file) {
  auto differs = [&](llvm::StringRef flag, llvm::StringRef given, llvm::StringRef recorded) {
    return fault(file + " was made with " + flag + " " + recorded + ", but " + flag + " " + given +
                 " is given; leave the flag out or compile from the model");
  };
  if (options.targets.size() > 1)
    return fault("--from takes one target: " + file + " was made for '" + textOf(module, "moe.target", "name") + "'");
  if (!options.targets.empty()) {
    auto target = lookupTarget(options.targets[0]);
    if (!target)
      return target.takeError();
    if (target->name != textOf(module, "moe.target", "name"))
      return differs("--target", options.targets[0], textOf(module, "moe.target", "name"));
  }
  for (auto [flag, key, given] :
       {std::tuple("--quant", "quant", &options.quant), std::tuple("--group", "group", &options.group),
        std::tuple("--kv", "kv", &options.kv), std::tuple("--predict", "predict", &options.predict)})
    if (std::string recorded = textOf(module, "moe.options", key); !given->empty() && *given != recorded)
      return differs(flag, *given, recorded);
  for (auto [flag, key, given] :
       {std::tuple("--context", "moe.context", options.context), std::tuple("--window", "moe.window", options.window),
        std::tuple("--sinks", "moe.sinks", options.sinks)})
    if (auto recorded = module->getAttrOfType<IntegerAttr>(key);
        given && recorded && recorded.getInt() != static_cast<int64_t>(*given))
      return differs(flag, std::to_string(*given), std::to_string(recorded.getInt()));
  return llvm::Error::success();
}

/// `isGenerated` says which kind may stand in place of a file.
static llvm::Error checkSource(DictionaryAttr file, bool (*isGenerated)(llvm::StringRef kind)) {
  auto path = file.getAs<StringAttr>("path");
  auto size = file.getAs<IntegerAttr>("size");
  auto hash = file.getAs<StringAttr>("hash");
  if (!path || !size || !hash)
    return fault("expects {path, size, hash} for each source file of the module");
  if (auto kind = file.getAs<StringAttr>("kind")) {
    if (!isGenerated(kind.getValue()))
      return fault("'" + path.getValue() + "' is generated as '" + kind.getValue() +
                   "', which this moec does not know");
    return llvm::Error::success();
  }
  auto opened = RandomAccessFile::open(path.getValue());
  if (!opened)
    return opened.takeError();
  if (opened->sizeBytes() != static_cast<uint64_t>(size.getInt()))
    return fault("'" + path.getValue() + "' has changed since import: it has " + llvm::Twine(opened->sizeBytes()) +
                 " bytes, expected " + llvm::Twine(size.getInt()) + "; compile from the model again");
  auto digest = hashFile(path.getValue());
  if (!digest)
    return digest.takeError();
  if (digest->toHex() != hash.getValue())
    return fault("'" + path.getValue() + "' has changed since import: its hash is " + digest->toHex() + ", expected " +
                 hash.getValue() + "; compile from the model again");
  return llvm::Error::success();
}

llvm::Error checkSources(ModuleOp module) {
  auto files = module->getAttrOfType<ArrayAttr>("moe.files");
  auto tokenizer = module->getAttrOfType<DictionaryAttr>("moe.tokenizer");
  if (!files || !tokenizer)
    return fault("the module does not record its source files; start from a file that moec wrote");
  for (Attribute file : files)
    if (auto entry = dyn_cast<DictionaryAttr>(file)) {
      if (llvm::Error error =
              checkSource(entry, [](llvm::StringRef kind) { return parseRandomKind(kind).has_value(); }))
        return error;
    } else {
      return fault("expects {path, size, hash} for each source file of the module");
    }
  return checkSource(tokenizer, [](llvm::StringRef kind) { return kind == kByteTokenizerKind; });
}

} // namespace moec
