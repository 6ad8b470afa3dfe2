// SPDX-License-Identifier: Apache-2.0
/// \file
/// The float kernels give the bytes of plain loops on every ISA level, and specs out of range are refused.
#include "passes/lower/kernels/DeltaKernels.h"
#include "passes/lower/kernels/FloatKernels.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

#include "gtest/gtest.h"

using namespace moec;

namespace {

std::string programOf(llvm::StringRef level) { return (FLOAT_KERNELS_DIR "/cases-" + level).str(); }

/// What the cases print on one ISA level, which must have passed; `onlyDots` those with integer dot products.
std::string runCases(llvm::StringRef level, bool onlyDots = false) {
  // Several of these tests run at once.
  std::string program = programOf(level), own = program + "." + std::to_string(llvm::sys::Process::getProcessId());
  std::string output = own + ".out", errors = own + ".err";
  std::string path = program;
  llvm::SmallVector<llvm::StringRef, 5> command{program};
  if (level == "arm64" || level == "neon") {
    auto emulator = llvm::sys::findProgramByName("qemu-aarch64");
    if (!emulator)
      return "";
    path = *emulator;
    command = {path, "-cpu", level == "neon" ? "cortex-a53" : "max", program};
  }
  if (onlyDots)
    command.push_back("dots");
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(output), llvm::StringRef(errors)};
  int code = llvm::sys::ExecuteAndWait(path, command, std::nullopt, redirects);
  auto text = llvm::MemoryBuffer::getFile(output), message = llvm::MemoryBuffer::getFile(errors);
  llvm::sys::fs::remove(output);
  llvm::sys::fs::remove(errors);
  EXPECT_EQ(code, 0) << (message ? (*message)->getBuffer().str() : "no messages");
  return text ? (*text)->getBuffer().str() : "";
}

std::string firstError(llvm::Error error) { return llvm::toString(std::move(error)); }

KvLayout smallLayout() {
  KvLayout layout{2, 32, 32, KvElement::i8, 0, 0, 0};
  layout.blockBytes = layout.layerBytes();
  layout.regionBytes = 4 * layout.blockBytes;
  return layout;
}

} // namespace

TEST(FloatKernels, Avx2EqualsPlainLoops) {
  if (!llvm::sys::fs::exists(programOf("avx2")))
    GTEST_SKIP() << "this machine is not x86-64";
  EXPECT_NE(runCases("avx2"), "");
}

TEST(FloatKernels, Avx512EqualsAvx2) {
  if (!llvm::sys::fs::exists(programOf("avx512")) || !llvm::sys::getHostCPUFeatures().lookup("avx512vnni"))
    GTEST_SKIP() << "this machine has no AVX-512 VNNI";
  EXPECT_EQ(runCases("avx512"), runCases("avx2"));
}

TEST(FloatKernels, AvxVnniEqualsAvx2) {
  if (!llvm::sys::fs::exists(programOf("avxvnni")) || !llvm::sys::getHostCPUFeatures().lookup("avxvnni"))
    GTEST_SKIP() << "this machine has no AVX-VNNI";
  EXPECT_EQ(runCases("avxvnni", true), runCases("avx2", true));
}

TEST(FloatKernels, NeonEqualsX86) {
  if (!llvm::sys::fs::exists(programOf("neon")) || !llvm::sys::findProgramByName("qemu-aarch64"))
    GTEST_SKIP() << "aarch64-linux-gnu-g++ or qemu-aarch64 is not installed";
  std::string neon = runCases("neon", true);
  EXPECT_NE(neon, "");
  if (llvm::sys::fs::exists(programOf("avx2"))) {
    EXPECT_EQ(neon, runCases("avx2", true));
  }
}

TEST(FloatKernels, Arm64EqualsX86) {
  if (!llvm::sys::fs::exists(programOf("arm64")))
    GTEST_SKIP() << "aarch64-linux-gnu-g++ is not installed";
  if (!llvm::sys::findProgramByName("qemu-aarch64"))
    GTEST_SKIP() << "qemu-aarch64 is not installed";
  std::string arm = runCases("arm64");
  EXPECT_NE(arm, "");
  if (llvm::sys::fs::exists(programOf("avx2"))) {
    EXPECT_EQ(arm, runCases("avx2"));
  }
}

TEST(FloatKernels, LayoutFollowsTheContract) {
  KvLayout layout = smallLayout();
  EXPECT_EQ(layout.keyScales(), 2 * 32 * 64);
  EXPECT_EQ(layout.valueCodes(), 2 * 32 * 64 + 2 * 64 * 4);
  EXPECT_EQ(layout.layerBytes(), 2 * (2 * 32 * 64 + 2 * 64 * 4));
  layout.element = KvElement::f16;
  EXPECT_EQ(layout.layerBytes(), 2 * 2 * 32 * 64 * 2);
  layout.element = KvElement::i4;
  layout.valueDim = 40; // two groups of columns: 32 and 8
  EXPECT_EQ(layout.layerBytes(), 2 * 64 * (32 / 2 + 2 + 40 / 2 + 2 * 2));
}

TEST(FloatKernels, ChecksRefuseSpecsOutOfRange) {
  EXPECT_EQ(firstError(check(QuantizeSpec{1, 100, 32})),
            "quantize expects at least 1 token and a group that is a multiple of 16 and divides the columns, but got 1 "
            "tokens, group 32 and 100 columns");
  EXPECT_EQ(firstError(check(NormSpec{1, 0, 1e-6f, false, true, 0})),
            "norm expects at least 1 token, 1 column and a result, but got 1 tokens and 0 columns");
  EXPECT_EQ(firstError(check(EmbedSpec{1, 64, 60, Encoding::i8(32), 1.0f})),
            "embed expects at least 1 token and 68 bytes a row, but got 1 tokens and 60 bytes");
  EXPECT_EQ(firstError(check(EmbedSpec{1, 64, 68, Encoding::i8(48), 1.0f})),
            "'embed' has group 48, expected 32, 64 or 128");
  EXPECT_EQ(firstError(check(RouterSpec{1, 4, 5})),
            "router expects at least 1 token and 1 <= top-k <= experts, but got 1 tokens, top-k 5 and 4 experts");
  EXPECT_EQ(firstError(check(CombineSpec{1, 8, 0})),
            "combine expects at least 1 token, 1 column and 1 expert, but got 1 tokens, 8 columns and 0 experts");
  EXPECT_EQ(firstError(check(GluSpec{0, 64, 32})),
            "glu expects at least 1 token and 1 column, but got 0 tokens and 64 columns");
  EXPECT_EQ(firstError(check(GateSpec{1, 48, false, Activation::sigmoid, false, 32})),
            "quantize expects at least 1 token and a group that is a multiple of 16 and divides the columns, but got 1 "
            "tokens, group 32 and 48 columns");
  AttentionSpec attention{1, 3, 1.0f, smallLayout()};
  EXPECT_EQ(firstError(check(attention)),
            "attention expects query heads in a multiple of the kv heads, but got 3 and 2");
  attention.heads = 4;
  EXPECT_EQ(firstError(check(attention)), "");
  attention.kv.keyDim = 20;
  EXPECT_EQ(firstError(check(attention)),
            "a KV cache with head_dim 20 has no kernel; supported are multiples of 8 up to "
            "1024");
  RopeAppendSpec rope{1, 4, 33, 64, false, 1e-6f, false, smallLayout()};
  EXPECT_EQ(firstError(check(rope)), "rope expects at least 1 token, 1 position and an even rotary dimension of at "
                                     "most 32, but got 1 tokens, 64 positions and dimension 33");
}

TEST(FloatKernels, ChecksRefuseDeltaSpecsOutOfRange) {
  EXPECT_EQ(firstError(check(ConvSpec{1, 64, 17})), "conv expects at least 1 token, 1 to 2^28 channels and a length of "
                                                    "2 to 16, but got 1 tokens, 64 channels and length 17");
  DeltaSpec spec{1, 2, 4, 16, 16, 4, 4};
  EXPECT_EQ(firstError(check(spec)), "");
  spec.valueHeads = 3;
  EXPECT_EQ(firstError(check(spec)), "delta rule expects at least 1 token, up to 65536 value heads in a multiple of "
                                     "the key heads and dimensions of 1 to 4096, but got 1 tokens, 3 and 2 heads, "
                                     "dimensions 16 and 16");
  spec.valueHeads = 4;
  spec.rateColumns = 8;
  EXPECT_EQ(firstError(check(spec)), "delta rule expects a decay with 4 columns, or 64, but got 8");
  spec.rateColumns = 64;
  spec.logLength = 8;
  EXPECT_EQ(firstError(check(spec)), "delta rule expects one a_log for each head or fewer, but got 8 for 4 heads");
  spec.logLength = 4;
  spec.group = 32;
  EXPECT_EQ(firstError(check(spec)),
            "gated norm expects a group that is a multiple of 16 and divides the head, but got "
            "group 32 and heads of 16");
}
