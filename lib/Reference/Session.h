// SPDX-License-Identifier: Apache-2.0
/// \file
/// Feeds tokens to an imported model through the interpreter. Main source: Interpreter.h.
#ifndef LIB_REFERENCE_SESSION_H
#define LIB_REFERENCE_SESSION_H

#include "lib/Reference/Interpreter.h"

namespace moec {

/// One sequence. Not thread-safe; the interpreter must outlive it.
class Session {
public:
  /// Errors: the module has no entry points @prefill, @decode and @head of a model.
  static llvm::Expected<Session> create(Interpreter &interpreter);

  /// Appends tokens and returns a row of logits for each. At most `moe.chunk` tokens go through one call of @prefill,
  /// single ones through @decode. Errors: an empty list; beyond the context; as Interpreter::call. After an error the
  /// session is of no use.
  llvm::Expected<FloatTensor> feed(llvm::ArrayRef<int32_t> ids);

  int64_t position() const { return filled; }

private:
  Session(Interpreter &interpreter, int64_t chunk) : interpreter(&interpreter), chunk(chunk) {}
  llvm::Expected<FloatTensor> feedChunk(llvm::ArrayRef<int32_t> ids);

  Interpreter *interpreter;
  int64_t chunk;
  int64_t filled = 0;
  std::vector<RuntimeValue> memories; ///< a cache or a state for each argument from the third on
};

/// The index of the largest value; ties go to the lowest. `row` is not empty.
int32_t argmax(llvm::ArrayRef<float> row);

} // namespace moec

#endif
