// SPDX-License-Identifier: Apache-2.0
/// \file
/// One activation of a function: the values so far, and the meaning of each operation. Main source: Interpreter.h.
#ifndef LIB_REFERENCE_FRAME_H
#define LIB_REFERENCE_FRAME_H

#include "lib/Reference/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"

namespace moec {

struct DeltaInputs;
using SharedMatrix = std::shared_ptr<const Matrix>;

/// Evaluates operations one after the other. Each `run` reads the operands and sets the results of one operation; its
/// errors continue the sentence "'<op>' op …".
class Frame {
public:
  Frame(mlir::ModuleOp module, WeightProvider &weights, int64_t expertsUsed)
      : symbols(module), weights(weights), expertsUsed(expertsUsed) {}

  void set(mlir::Value value, RuntimeValue runtime) { values[value] = std::move(runtime); }
  llvm::Expected<RuntimeValue> take(mlir::Value value);
  /// Dispatches on the kind of `op`. The message names it.
  llvm::Error evaluate(mlir::Operation *op);

private:
  llvm::Error dispatch(mlir::Operation *op);

  llvm::Error run(mlir::arith::ConstantOp op);
  llvm::Error run(mlir::arith::AddFOp op);
  llvm::Error run(mlir::moe::ParamOp op);
  llvm::Error run(mlir::moe::EmbedOp op);
  llvm::Error run(mlir::moe::LinearOp op);
  llvm::Error run(mlir::moe::MultiLinearOp op);
  llvm::Error run(mlir::moe::RmsNormOp op);
  llvm::Error run(mlir::moe::QuantizeActOp op);
  llvm::Error run(mlir::moe::NormQuantizeOp op);
  llvm::Error run(mlir::moe::RopeOp op);
  llvm::Error run(mlir::moe::CacheAppendOp op);
  llvm::Error run(mlir::moe::RopeAppendOp op);
  llvm::Error run(mlir::moe::AttentionOp op);
  llvm::Error run(mlir::moe::RouteOp op);
  llvm::Error run(mlir::moe::RouterTopkOp op);
  llvm::Error run(mlir::moe::ExpertsOp op);
  llvm::Error run(mlir::moe::ActivationOp op);
  llvm::Error run(mlir::moe::GluOp op);
  llvm::Error run(mlir::moe::GateOp op);
  llvm::Error run(mlir::moe::CausalConv1dOp op);
  llvm::Error run(mlir::moe::L2NormOp op);
  llvm::Error run(mlir::moe::DecayOp op);
  llvm::Error run(mlir::moe::DeltaRuleOp op);
  llvm::Error run(mlir::moe::GatedNormOp op);
  llvm::Error run(mlir::moe::DeltaStepOp op);

  /// The operand as a T; errors if it is something else.
  template <typename T> llvm::Expected<const T *> get(mlir::Value value) const;
  /// Several activations of rank 2 with one number of rows.
  llvm::Error getAll(llvm::ArrayRef<std::pair<mlir::Value, const FloatTensor **>> wanted);
  /// A weight operand: a `moe.param`, or a constant tensor that its type encodes.
  llvm::Expected<SharedMatrix> matrix(mlir::Value value, int64_t expert = 0);
  llvm::Expected<std::vector<float>> vector(mlir::Value value);
  /// x Wᵀ for both kinds of x.
  llvm::Expected<FloatTensor> product(mlir::Value x, const Matrix &w);
  /// Sets both results of a router.
  template <typename OpType> llvm::Error setRouted(OpType op, const FloatTensor &logits);
  llvm::Error addTo(FloatTensor &y, mlir::Value residual);
  /// Adds one vector to each row; nothing where `bias` is null.
  llvm::Error addBias(FloatTensor &y, mlir::Value bias);
  /// The normalized rows of `op`, a moe.rms_norm or moe.norm_quantize.
  template <typename NormOp> llvm::Expected<FloatTensor> normOf(NormOp op);
  llvm::Error normalize(FloatTensor &x, mlir::Value w, float eps, bool unitOffset);
  /// What each (token, rank) pair gets from its expert: [tokens * k, columns].
  llvm::Expected<FloatTensor> expertOutputs(mlir::moe::ExpertsOp op, const IntTensor &ids);
  llvm::Error append(mlir::Value cache, mlir::Value updated, const FloatTensor &k, const FloatTensor &v,
                     int64_t position);
  /// Convolution of x; sets the updated state.
  llvm::Expected<FloatTensor> convolved(const FloatTensor &x, mlir::Value w, mlir::Value state, mlir::Value updated,
                                        std::optional<mlir::moe::ActivationKind> kind);
  llvm::Expected<FloatTensor> decayOf(const FloatTensor &a, mlir::Value aLog, mlir::Value dtBias);
  /// The delta rule; sets the updated state.
  llvm::Expected<FloatTensor> recall(const DeltaInputs &inputs, mlir::Value state, mlir::Value updated);

  mlir::SymbolTable symbols;
  WeightProvider &weights;
  int64_t expertsUsed; ///< ranks of a router that count; 0: all
  llvm::DenseMap<mlir::Value, RuntimeValue> values;
};

/// act(gate) inside a gated linear unit, and the error for kinds that have no meaning here.
float gluActivation(float gate, mlir::moe::GluKind kind);
llvm::Error checkGlu(mlir::moe::GluKind kind);

/// x rows `rows` of x, in that order.
FloatTensor gatherRows(const FloatTensor &x, llvm::ArrayRef<int64_t> rows);
ActTensor gatherRows(const ActTensor &x, llvm::ArrayRef<int64_t> rows);

/// The attributes that `moe.route` and `moe.router_topk` share.
struct RouteSpec {
  int64_t k = 0, used = 0; ///< 1 <= used <= k
  mlir::moe::Score score = mlir::moe::Score::none;
  bool renormalizes = false;
  float renormEps = 0, factor = 1;
};

/// Selects experts for each row of logits: weights and ids, both [rows, k]. Ranks from `used` on get weight 0 and id
/// -1.
std::pair<FloatTensor, IntTensor> route(const FloatTensor &logits, const RouteSpec &spec);

} // namespace moec

#endif
