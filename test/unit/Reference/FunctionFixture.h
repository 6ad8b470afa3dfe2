// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls functions of a module given as text.
#ifndef TEST_UNIT_REFERENCE_FUNCTIONFIXTURE_H
#define TEST_UNIT_REFERENCE_FUNCTIONFIXTURE_H

#include "lib/Reference/Interpreter.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>

namespace moec {

class FunctionTest : public testing::Test {
protected:
  FunctionTest() { context.loadDialect<mlir::moe::MoeDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>(); }

  /// Results of a function as text, since values have no comparison; the digits are exact.
  std::vector<std::string> call(llvm::StringRef source, llvm::StringRef name, std::vector<RuntimeValue> arguments) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    EXPECT_TRUE(bool(module));
    auto interpreter = Interpreter::create(*module);
    EXPECT_TRUE(bool(interpreter)) << toString(interpreter.takeError());
    auto results = interpreter->call(name, std::move(arguments));
    EXPECT_TRUE(bool(results)) << toString(results.takeError());
    std::vector<std::string> texts;
    for (const RuntimeValue &value : *results)
      if (!std::holds_alternative<std::shared_ptr<KvCache>>(value)) {
        auto text = formatValue(value);
        EXPECT_TRUE(bool(text)) << toString(text.takeError());
        texts.push_back(*text);
      }
    return texts;
  }

  FloatTensor waves(int64_t rowCount, int64_t columns, float step) {
    FloatTensor x{{rowCount, columns}, {}};
    for (int64_t i = 0; i < rowCount * columns; ++i)
      x.values.push_back(std::sin(step * static_cast<float>(i)) * 3.0f);
    return x;
  }

  mlir::MLIRContext context;
};

} // namespace moec

#endif
