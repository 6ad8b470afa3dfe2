// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a model or a function with the reference interpreter.
#include "tools/moe-interpret/Run.h"

#include "lib/Reference/Session.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/ModuleText.h"
#include "lib/Support/Npy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace moec {

/// Whether the arguments of a function can be made: empty caches and zero states.
static bool hasOwnArguments(func::FuncOp function) {
  return llvm::all_of(function.getArgumentTypes(), [](Type type) { return isa<moe::CacheType, moe::StateType>(type); });
}

/// The function to call: the one that was asked for, or the only one without arguments to give.
static llvm::Expected<std::string> entryOf(ModuleOp module, llvm::StringRef wanted) {
  if (!wanted.empty())
    return wanted.str();
  std::string found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!hasOwnArguments(function) || function.isExternal())
      continue;
    if (!found.empty())
      return fault("expects one function without arguments, but got @" + found + " and @" + function.getName() +
                   "; choose with --entry");
    found = function.getName().str();
  }
  if (found.empty())
    return fault("expects a model or a function without arguments");
  return found;
}

static llvm::Error runFunction(Interpreter &interpreter, const InterpretOptions &options, llvm::raw_ostream &out) {
  llvm::Expected<std::string> entry = entryOf(interpreter.module(), options.entry);
  if (!entry)
    return entry.takeError();
  std::vector<RuntimeValue> arguments;
  if (auto function = dyn_cast_if_present<func::FuncOp>(interpreter.module().lookupSymbol(*entry));
      function && hasOwnArguments(function))
    for (Type type : function.getArgumentTypes()) {
      llvm::Expected<RuntimeValue> argument = makeEmpty(type);
      if (!argument)
        return fault("@" + *entry + " " + toString(argument.takeError()));
      arguments.push_back(std::move(*argument));
    }
  auto results = interpreter.call(*entry, std::move(arguments));
  if (!results)
    return results.takeError();
  for (const RuntimeValue &result : *results) {
    llvm::Expected<std::string> text = formatValue(result);
    if (!text)
      return text.takeError();
    out << *text << "\n";
  }
  return llvm::Error::success();
}

static llvm::Error writeRows(NpyWriter &writer, const FloatTensor &rows) {
  for (int64_t row = 0; row < rows.numRows(); ++row)
    if (llvm::Error error = writer.writeRow(rows.row(row)))
      return error;
  return llvm::Error::success();
}

static llvm::Error runModel(Interpreter &interpreter, const InterpretOptions &options, llvm::raw_ostream &out) {
  if (options.ids.empty())
    return fault("a model needs --ids, such as --ids 1,2,3");
  llvm::Expected<Session> session = Session::create(interpreter);
  if (!session)
    return session.takeError();
  llvm::Expected<FloatTensor> rows = session->feed(options.ids);
  if (!rows)
    return rows.takeError();
  std::optional<NpyWriter> writer;
  if (!options.logitsFile.empty()) {
    llvm::Expected<NpyWriter> created = NpyWriter::create(options.logitsFile, rows->rowSize());
    if (!created)
      return created.takeError();
    writer.emplace(std::move(*created));
    if (llvm::Error error = writeRows(*writer, *rows))
      return error;
  }
  for (uint32_t i = 0; i < options.numGreedy; ++i) {
    int32_t id = argmax(rows->row(rows->numRows() - 1));
    out << (i ? "," : "") << id;
    out.flush();
    if (i + 1 == options.numGreedy)
      break;
    rows = session->feed(id);
    if (!rows)
      return rows.takeError();
    if (writer)
      if (llvm::Error error = writeRows(*writer, *rows))
        return error;
  }
  if (options.numGreedy)
    out << "\n";
  return writer ? writer->close() : llvm::Error::success();
}

llvm::Error interpret(const InterpretOptions &options, llvm::raw_ostream &out) {
  DialectRegistry registry;
  registry.insert<moe::MoeDialect, arith::ArithDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  constexpr uint64_t kMaxModuleBytes = uint64_t(1) << 30;
  auto text = readTextFile(options.file, kMaxModuleBytes);
  if (llvm::Error error = text ? checkModuleText(*text, options.file) : text.takeError())
    return error;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.file, sources, &context);
  if (!module)
    return fault(options.file + " cannot be read as a module of moe operations");
  FileWeightOptions weightOptions;
  weightOptions.checksHashes = options.checksHashes;
  llvm::Expected<Interpreter> interpreter = Interpreter::create(*module, weightOptions);
  if (!interpreter)
    return interpreter.takeError();
  interpreter->setExpertsUsed(options.expertsUsed);
  bool isModel = module->lookupSymbol("prefill") && module->lookupSymbol("decode") && module->lookupSymbol("head");
  if (isModel && options.entry.empty())
    return runModel(*interpreter, options, out);
  return runFunction(*interpreter, options, out);
}

} // namespace moec
