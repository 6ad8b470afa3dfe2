// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prefill, decode and head of a model, chunk by chunk.
#include "lib/Reference/Session.h"

#include "lib/Support/Fault.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace moec {

llvm::Expected<Session> Session::create(Interpreter &interpreter) {
  ModuleOp module = interpreter.module();
  func::FuncOp prefill;
  for (llvm::StringRef name : {"head", "decode", "prefill"}) {
    prefill = dyn_cast_if_present<func::FuncOp>(module.lookupSymbol(name));
    if (!prefill)
      return fault("the module has no entry point @" + name + " of a model");
  }
  auto chunk = module->getAttrOfType<IntegerAttr>("moe.chunk");
  if (chunk && (!chunk.getType().isInteger(64) || chunk.getInt() < 1))
    return fault("module attribute 'moe.chunk' expects a positive i64");
  Session session(interpreter, chunk ? chunk.getInt() : 64);
  if (prefill.getNumArguments() < 2)
    return fault("@prefill expects tokens, a position, caches and states as arguments");
  for (auto [index, type] : llvm::enumerate(prefill.getArgumentTypes().drop_front(2))) {
    llvm::Expected<RuntimeValue> memory = makeEmpty(type);
    if (!memory)
      return fault("argument " + llvm::Twine(index + 2) + " of @prefill " + toString(memory.takeError()));
    session.memories.push_back(std::move(*memory));
  }
  return session;
}

llvm::Expected<FloatTensor> Session::feed(llvm::ArrayRef<int32_t> ids) {
  if (ids.empty())
    return fault("expects at least one token, but got none");
  FloatTensor all;
  while (!ids.empty()) {
    size_t size = std::min<size_t>(ids.size(), chunk);
    llvm::Expected<FloatTensor> rows = feedChunk(ids.take_front(size));
    if (!rows)
      return rows.takeError();
    ids = ids.drop_front(size);
    if (all.shape.empty())
      all.shape = {0, rows->rowSize()};
    all.shape[0] += rows->numRows();
    all.values.insert(all.values.end(), rows->values.begin(), rows->values.end());
  }
  return all;
}

llvm::Expected<FloatTensor> Session::feedChunk(llvm::ArrayRef<int32_t> ids) {
  std::vector<RuntimeValue> arguments = {IntTensor{{static_cast<int64_t>(ids.size())}, ids.vec()}, filled};
  arguments.insert(arguments.end(), memories.begin(), memories.end());
  auto results = interpreter->call(ids.size() == 1 ? "decode" : "prefill", std::move(arguments));
  if (!results)
    return results.takeError();
  if (results->size() != memories.size() + 1)
    return fault("expects hidden rows and what each cache and state becomes, but got " + llvm::Twine(results->size()) +
                 " results");
  memories.assign(results->begin() + 1, results->end());
  auto logits = interpreter->call("head", {std::move(results->front())});
  if (!logits)
    return logits.takeError();
  auto *rows = logits->size() == 1 ? std::get_if<FloatTensor>(&logits->front()) : nullptr;
  if (!rows || rows->shape.size() != 2 || rows->shape[0] != static_cast<int64_t>(ids.size()) || rows->shape[1] == 0)
    return fault("@head expects to give a row of logits for each token");
  filled += static_cast<int64_t>(ids.size());
  return std::move(*rows);
}

int32_t argmax(llvm::ArrayRef<float> row) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i)
    if (row[i] > row[best])
      best = i;
  return static_cast<int32_t>(best);
}

} // namespace moec
