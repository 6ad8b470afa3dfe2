// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layouts give tight loops: the inner loops hold the target's dot product instructions and touch no stack. Counts
/// are printed. Main source: docs/architecture.md.
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
  bool contains(llvm::StringRef text) const {
    return llvm::any_of(instructions, [&](llvm::StringRef line) { return line.contains(text); });
  }
  /// Accesses to the stack; on x86, which has few registers for addresses, those of vectors only.
  int64_t countStack() const {
    return llvm::count_if(instructions, [](llvm::StringRef line) {
      return line.contains("[sp") || (line.contains("(%rsp") && line.contains("mm"));
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
    if (llvm::StringRef(clean).starts_with("{vex} "))
      clean.erase(0, 6);
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

enum class Kind { linear, gateUp, down };

CompiledKernel compile(Isa isa, Kind kind, const Encoding &encoding) {
  return CompiledKernel(isa, [&](KernelContext &context, mlir::ModuleOp module) {
    if (kind == Kind::linear) {
      buildLinear(context, module, "kernel", {{256, 2048, encoding, 0}, 32, 32, false});
      return;
    }
    ExpertsSpec spec;
    spec.gate = spec.up = {512, 2048, encoding, 0};
    spec.up.offsetBytes = spec.gate.layout(context.family()).totalBytes();
    spec.down = {2048, 512, encoding, 2 * spec.up.offsetBytes};
    spec.recordBytes = spec.down.offsetBytes + spec.down.layout(context.family()).totalBytes();
    spec.topK = 8;
    spec.maxTokens = 32;
    if (kind == Kind::gateUp)
      buildExpertsGateUp(context, module, "kernel", spec);
    else
      buildExpertsDown(context, module, "kernel", spec);
  });
}

/// The loops that hold `mnemonic`, printed with their counts.
std::vector<Loop> loopsWith(const CompiledKernel &kernel, llvm::StringRef name, llvm::StringRef mnemonic) {
  std::vector<Loop> result;
  for (Loop &loop : innermostLoops(kernel.disassembly()))
    if (int64_t count = loop.count(mnemonic)) {
      std::printf("%s: %zu instructions, %lld %s (%.2f for each), %lld on the stack\n", name.str().c_str(),
                  loop.instructions.size(), (long long)count, mnemonic.str().c_str(),
                  (double)loop.instructions.size() / (double)count, (long long)loop.countStack());
      result.push_back(std::move(loop));
    }
  return result;
}

using Case = std::tuple<Isa, Kind, Encoding>;

std::string nameOf(const Case &variant) {
  auto [isa, kind, encoding] = variant;
  const char *kinds[] = {"linear", "gateUp", "down"};
  return levelName(isa) + "_" + kinds[(int)kind] + "_" + identifierOf(encoding);
}

class ArmInstructions : public testing::TestWithParam<Case> {};

/// Each block of tokens has an inner loop of each matrix. 32 columns of 8 rows take 16 sdot for each token, or 16 smmla
/// for each 2 tokens, or 32 products of 8 columns. Of these 2 are summed before they are widened, or of 4-bit codes
/// those of the whole group.
TEST_P(ArmInstructions, InnerLoopsUseDotProductsWithoutSpills) {
  auto [isa, kind, encoding] = GetParam();
  CompiledKernel kernel = compile(isa, kind, encoding);
  // Where x29 is the frame pointer, spilled values may be reached through it.
  const bool hasFramePointer = llvm::StringRef(kernel.disassembly()).contains("x29, sp");
  std::map<std::string, size_t> numLoops;
  for (const char *mnemonic : {"sdot", "smmla", "smlal"})
    for (const Loop &loop : loopsWith(kernel, nameOf(GetParam()), mnemonic)) {
      ++numLoops[mnemonic];
      EXPECT_EQ(loop.count(mnemonic) % (isa == Isa::Neon ? 8 : 16), 0);
      // limitation L14
      const bool isTight = isa == Isa::I8mm ? mnemonic == std::string("smmla") && encoding.bits() == 4 &&
                                                  (encoding.minimum || kind == Kind::gateUp)
                                            : isa == Isa::Neon && encoding.bits() == 8 && kind == Kind::gateUp;
      EXPECT_LE(loop.countStack(), isTight ? (int64_t)loop.instructions.size() / 8 : 0)
          << llvm::join(loop.instructions, "\n");
      EXPECT_FALSE(hasFramePointer && loop.contains("[x29")) << llvm::join(loop.instructions, "\n");
      // Of groups of 32 the first pairwise sums may be formed twice.
      if (isa == Isa::Neon)
        EXPECT_LE(loop.count("smull") + loop.count("smlal"),
                  (encoding.bits() == 4 ? encoding.group / 8 : 2) * (loop.count("sadalp") + loop.count("saddlp")));
    }
  size_t matrices = kind == Kind::gateUp ? 2 : 1;
  // 1 token takes one pass; sdot takes 2 and 4 tokens in two passes of 4 rows, and so does smmla with 4 and 8 tokens. A
  // loop over 2 groups may be unrolled into two.
  std::map<std::string, size_t> expected;
  expected[isa == Isa::Neon ? "smlal" : "sdot"] = (isa == Isa::I8mm ? 1 : 5) * matrices;
  if (isa == Isa::I8mm)
    expected["smmla"] = 5 * matrices;
  for (const char *mnemonic : {"sdot", "smmla", "smlal"}) {
    EXPECT_GE(numLoops[mnemonic], expected[mnemonic]) << mnemonic;
    EXPECT_EQ(numLoops[mnemonic] > 0, expected[mnemonic] > 0) << mnemonic;
  }
}

std::vector<Encoding> integerEncodings() {
  std::vector<Encoding> encodings;
  for (auto make : {Encoding::i8, Encoding::i6, Encoding::i4, Encoding::i8m, Encoding::i4m})
    for (int64_t group : {32, 64, 128})
      encodings.push_back(make(group));
  return encodings;
}

INSTANTIATE_TEST_SUITE_P(All, ArmInstructions,
                         testing::Combine(testing::Values(Isa::Dotprod, Isa::I8mm),
                                          testing::Values(Kind::linear, Kind::gateUp, Kind::down),
                                          testing::ValuesIn(integerEncodings())),
                         [](const auto &info) { return nameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(Baseline, ArmInstructions,
                         testing::Combine(testing::Values(Isa::Neon), testing::Values(Kind::linear, Kind::gateUp),
                                          testing::Values(Encoding::i8(32), Encoding::i8(64), Encoding::i8m(128),
                                                          Encoding::i6(32), Encoding::i4(32), Encoding::i4m(64))),
                         [](const auto &info) { return nameOf(info.param); });

class X86Instructions : public testing::TestWithParam<Case> {};

TEST_P(X86Instructions, InnerLoopsUseDotProductsWithoutSpills) {
  auto [isa, kind, encoding] = GetParam();
  CompiledKernel kernel = compile(isa, kind, encoding);
  const char *mnemonic = isa != Isa::Avx2 ? "vpdpbusd" : encoding.bits() == 8 ? "vpmaddwd" : "vpmaddubsw";
  std::vector<Loop> loops = loopsWith(kernel, nameOf(GetParam()), mnemonic);
  EXPECT_FALSE(loops.empty());
  // limitation L14
  bool isFull = isa == Isa::AvxVnni && kind == Kind::gateUp && encoding == Encoding::i4m(32);
  for (const Loop &loop : loops)
    EXPECT_LE(loop.countStack(), isFull ? 2 : 0) << llvm::join(loop.instructions, "\n");
}

INSTANTIATE_TEST_SUITE_P(All, X86Instructions,
                         testing::Combine(testing::Values(Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni),
                                          testing::Values(Kind::linear, Kind::gateUp),
                                          testing::ValuesIn(integerEncodings())),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
