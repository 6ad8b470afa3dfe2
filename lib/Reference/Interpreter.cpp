// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls of functions, and the dispatch on operations.
#include "lib/Reference/Interpreter.h"

#include "lib/Reference/Frame.h"
#include "lib/Support/Fault.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace moec {

llvm::Expected<Interpreter> Interpreter::create(ModuleOp module, std::unique_ptr<WeightProvider> weights) {
  if (failed(verify(module)))
    return fault("the module does not pass its verifier");
  return Interpreter(module, std::move(weights));
}

llvm::Expected<Interpreter> Interpreter::create(ModuleOp module, const FileWeightOptions &options) {
  llvm::Expected<std::unique_ptr<FileWeightProvider>> weights = FileWeightProvider::create(module, options);
  if (!weights)
    return weights.takeError();
  return create(module, std::move(*weights));
}

llvm::Expected<std::vector<RuntimeValue>> Interpreter::call(llvm::StringRef name, std::vector<RuntimeValue> arguments) {
  auto function = dyn_cast_if_present<func::FuncOp>(moduleOp.lookupSymbol(name));
  if (!function)
    return fault("the module has no function @" + name);
  if (!llvm::hasSingleElement(function.getBody()))
    return fault("@" + name + " expects a body of one block");
  if (arguments.size() != function.getNumArguments())
    return fault("@" + name + " expects " + llvm::Twine(function.getNumArguments()) + " arguments, but got " +
                 llvm::Twine(arguments.size()));
  Frame frame(moduleOp, *weights, expertsUsed);
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    if (!fits(arguments[index], argument.getType())) {
      std::string type;
      llvm::raw_string_ostream(type) << argument.getType();
      return fault("argument " + llvm::Twine(index) + " of @" + name + " expects " + type + ", but got " +
                   describe(arguments[index]));
    }
    frame.set(argument, std::move(arguments[index]));
  }
  for (Operation &op : function.getBody().front().without_terminator())
    if (llvm::Error error = frame.evaluate(&op))
      return fault("@" + name + ": " + toString(std::move(error)));
  auto end = dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
  if (!end)
    return fault("@" + name + " expects a func.return at its end");
  std::vector<RuntimeValue> results;
  for (Value operand : end.getOperands()) {
    llvm::Expected<RuntimeValue> value = frame.take(operand);
    if (!value)
      return value.takeError();
    results.push_back(std::move(*value));
  }
  return results;
}

llvm::Expected<RuntimeValue> Frame::take(Value value) {
  auto found = values.find(value);
  if (found == values.end())
    return fault("a value is used before it is computed");
  return found->second;
}

llvm::Error Frame::evaluate(Operation *op) {
  llvm::Error error = dispatch(op);
  if (!error) {
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      auto found = values.find(result);
      if (found == values.end() || !fits(found->second, result.getType()))
        return fault("'" + op->getName().getStringRef() + "' op gives a result " + llvm::Twine(index) +
                     " that does not fit its type");
    }
    return error;
  }
  return fault("'" + op->getName().getStringRef() + "' op " + toString(std::move(error)));
}

llvm::Error Frame::dispatch(Operation *op) {
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case<arith::ConstantOp, arith::AddFOp, moe::ParamOp, moe::EmbedOp, moe::LinearOp, moe::MultiLinearOp,
            moe::RmsNormOp, moe::QuantizeActOp, moe::NormQuantizeOp, moe::RopeOp, moe::CacheAppendOp, moe::RopeAppendOp,
            moe::AttentionOp, moe::RouteOp, moe::RouterTopkOp, moe::ExpertsOp, moe::ActivationOp, moe::GluOp,
            moe::GateOp, moe::CausalConv1dOp, moe::L2NormOp, moe::DecayOp, moe::DeltaRuleOp, moe::GatedNormOp,
            moe::DeltaStepOp>([&](auto concrete) { return run(concrete); })
      // A hint: no value depends on it.
      .Case([](moe::PredictExpertsOp) { return llvm::Error::success(); })
      .Default([](Operation *) { return fault("has no meaning in the interpreter"); });
}

} // namespace moec
