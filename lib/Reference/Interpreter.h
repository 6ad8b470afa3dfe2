// SPDX-License-Identifier: Apache-2.0
/// \file
/// Interprets functions over `moe` operations of levels L1 and L2: their executable meaning, in plain loops. f32 and
/// integer builds are compared with it. Main source: dialects/moe/MoeOps.td, docs/architecture.md ("Numerics").
#ifndef LIB_REFERENCE_INTERPRETER_H
#define LIB_REFERENCE_INTERPRETER_H

#include "lib/Reference/KvCache.h"
#include "lib/Reference/WeightProvider.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <variant>

namespace moec {

struct IntTensor {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;
};

/// What a `moe.param` yields; its values are fetched where they are used.
struct WeightHandle {
  mlir::moe::WeightOp weight;
};

/// A recurrent state of f32 values.
using StatePointer = std::shared_ptr<FloatTensor>;

/// A value while it is computed: an index, a tensor, a weight, a cache or a state. The last two are linear: an
/// operation changes the object that it was given and passes it on.
using RuntimeValue =
    std::variant<int64_t, FloatTensor, IntTensor, ActTensor, WeightHandle, std::shared_ptr<KvCache>, StatePointer>;

/// Not thread-safe. The module must outlive it and must not be changed meanwhile.
class Interpreter {
public:
  /// Errors: the module does not pass its verifier.
  static llvm::Expected<Interpreter> create(mlir::ModuleOp module, std::unique_ptr<WeightProvider> weights);
  /// With weights from the files of the module.
  static llvm::Expected<Interpreter> create(mlir::ModuleOp module, const FileWeightOptions &options = {});

  mlir::ModuleOp module() const { return moduleOp; }

  /// Routers use their `count` best ranks only and renormalize over those, as `moert_open_options::experts_used`; 0:
  /// all. A router of fewer ranks is then an error of the call.
  void setExpertsUsed(int64_t count) { expertsUsed = count; }

  /// Calls a function of the module.
  ///
  /// Errors: no such function; arguments that do not fit its type; an operation that has no meaning here; sizes that
  ///         differ at run time; ids out of range; an unreadable weight. The message names function and operation.
  llvm::Expected<std::vector<RuntimeValue>> call(llvm::StringRef function, std::vector<RuntimeValue> arguments);

private:
  Interpreter(mlir::ModuleOp module, std::unique_ptr<WeightProvider> weights)
      : moduleOp(module), weights(std::move(weights)) {}

  mlir::ModuleOp moduleOp;
  std::unique_ptr<WeightProvider> weights;
  int64_t expertsUsed = 0;
};

/// An empty cache of the type. Error: an element that the interpreter does not know; more than 2^24 values of one
/// position.
llvm::Expected<std::shared_ptr<KvCache>> makeCache(mlir::moe::CacheType type);

/// A state of the type, all zero. Errors: elements other than f32; more than 2^28 values.
llvm::Expected<StatePointer> makeState(mlir::moe::StateType type);

/// An empty cache or a zero state, by the type. Errors: another type; as makeCache and makeState.
llvm::Expected<RuntimeValue> makeEmpty(mlir::Type type);

/// Whether a value may stand where the type is expected, with dynamic sizes free.
bool fits(const RuntimeValue &value, mlir::Type type);

/// For messages: "tensor<3x256xf32>", "an index", "a cache", "state<3x64xf32>".
std::string describe(const RuntimeValue &value);

/// `tensor<2x2xf32> [[1, 2], [3, 4]]`, with the shortest digits that read back exactly. Errors: a value without text.
llvm::Expected<std::string> formatValue(const RuntimeValue &value);

} // namespace moec

#endif
