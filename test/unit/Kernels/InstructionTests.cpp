// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layouts give tight loops: the inner loops hold the target's dot product instructions and touch no stack. Counts
/// are printed. Main source: DESIGN §4.
#include "test/unit/Kernels/Harness.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <map>

using namespace moec;

namespace {

struct Loop {
  std::vector<std::string> instructions;
  int64_t count(llvm::StringRef mnemonic) const {
    return llvm::count_if(instructions, [&](llvm::StringRef line) { return line.starts_with(mnemonic); });
  }
  int64_t countStack() const {
    return llvm::count_if(instructions, [](llvm::StringRef line) {
      return line.contains("[sp") || line.contains("(%rsp") || line.contains("(%rbp");
    });
  }
};

/// Loops without a loop inside: from the target of a backward branch to the branch.
std::vector<Loop> innermostLoops(const std::string &disassembly) {
  std::vector<std::pair<uint64_t, std::string>> lines;
  llvm::SmallVector<llvm::StringRef> rows;
  llvm::StringRef(disassembly).split(rows, '\n');
  for (llvm::StringRef row : rows) {
    auto [address, text] = row.trim().split(':');
    uint64_t at;
    if (address.getAsInteger(16, at) || text.trim().empty())
      continue;
    std::string clean = text.trim().str();
    std::replace(clean.begin(), clean.end(), '\t', ' ');
    lines.emplace_back(at, clean);
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (auto &[at, text] : lines) {
    size_t hex = text.find("0x");
    uint64_t target;
    bool isBranch = text[0] == 'b' || text[0] == 'c' || text[0] == 'j' || text[0] == 't';
    if (isBranch && hex != std::string::npos && text.back() == '>' &&
        !llvm::StringRef(text).substr(hex + 2).split(' ').first.getAsInteger(16, target) && target <= at)
      ranges.emplace_back(target, at);
  }
  std::vector<Loop> loops;
  for (auto &outer : ranges) {
    bool isInnermost = llvm::none_of(ranges, [&](auto &inner) {
      return inner != outer && inner.first >= outer.first && inner.second <= outer.second;
    });
    if (!isInnermost)
      continue;
    loops.emplace_back();
    for (auto &[at, text] : lines)
      if (at >= outer.first && at <= outer.second)
        loops.back().instructions.push_back(text);
  }
  return loops;
}

/// The loops that hold `mnemonic`, printed with their counts.
std::vector<Loop> loopsWith(Isa isa, WeightEncoding encoding, llvm::StringRef mnemonic, int64_t group = 32) {
  LinearSpec spec{{256, 2048, encoding, group, 0}, 32, 32, false};
  CompiledKernel kernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); });
  std::vector<Loop> result;
  for (Loop &loop : innermostLoops(kernel.disassembly()))
    if (loop.count(mnemonic) > 0) {
      std::printf("%s %s group %lld: %zu instructions, %lld %s, %lld on the stack\n", levelName(isa).c_str(),
                  encoding == WeightEncoding::i8 ? "i8" : "i4", (long long)group, loop.instructions.size(),
                  (long long)loop.count(mnemonic), mnemonic.str().c_str(), (long long)loop.countStack());
      result.push_back(std::move(loop));
    }
  return result;
}

TEST(Instructions, OneTokenUsesSdotWithoutSpills) {
  for (Isa isa : {Isa::Dotprod, Isa::I8mm})
    for (WeightEncoding encoding : {WeightEncoding::i8, WeightEncoding::i4}) {
      // 4 row pairs x 4 chunks of 8 columns for one token; loops of several tokens have multiples of that.
      auto loops = loopsWith(isa, encoding, "sdot");
      bool hasOneToken = false;
      for (const Loop &loop : loops)
        if (loop.count("sdot") == 16) {
          hasOneToken = true;
          EXPECT_EQ(loop.countStack(), 0);
        }
      EXPECT_TRUE(hasOneToken);
    }
}

TEST(Instructions, ManyTokensUseSmmlaAndSpillAtMostTwoValues) {
  for (WeightEncoding encoding : {WeightEncoding::i8, WeightEncoding::i4})
    for (int64_t group : {32, 128}) {
      auto loops = loopsWith(Isa::I8mm, encoding, "smmla", group);
      ASSERT_FALSE(loops.empty());
      // 4-bit codes in groups of 32 unpack within the loop over groups, where 16 sums and accumulators live as well: 2
      // values are spilled. Two tokens instead of four spill nothing, but need 4.8 instructions per smmla, not 4.0.
      int64_t allowed = encoding == WeightEncoding::i4 && group == 32 ? 4 : 0;
      for (const Loop &loop : loops)
        EXPECT_LE(loop.countStack(), allowed);
    }
}

TEST(Instructions, X86UsesItsDotProductsWithoutSpills) {
  for (WeightEncoding encoding : {WeightEncoding::i8, WeightEncoding::i4}) {
    auto wide = loopsWith(Isa::Avx512Vnni, encoding, "vpdpbusd");
    ASSERT_FALSE(wide.empty());
    for (const Loop &loop : wide)
      EXPECT_EQ(loop.countStack(), 0);
    ASSERT_FALSE(loopsWith(Isa::Avx2, encoding, "vpmaddwd").empty());
  }
}

} // namespace
