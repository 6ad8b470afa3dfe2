// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiling, linking and calling of one kernel. Main source: test/unit/Kernels/Harness.h.
#include "test/unit/Kernels/Harness.h"

#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace mlir;

namespace moec {

static constexpr size_t kGuardBytes = 64;
static constexpr uint8_t kGuard = 0xa5;
static constexpr const char *kAvx512 = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni";

const std::vector<Isa> &allLevels() {
  static const std::vector<Isa> levels{Isa::Avx512Vnni, Isa::AvxVnni, Isa::Avx2, Isa::Neon, Isa::Dotprod, Isa::I8mm};
  return levels;
}

std::string levelName(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return "avx2";
  case Isa::AvxVnni:
    return "avxvnni";
  case Isa::Avx512Vnni:
    return "avx512vnni";
  case Isa::Neon:
    return "neon";
  case Isa::Dotprod:
    return "dotprod";
  case Isa::I8mm:
    return "i8mm";
  }
  return "";
}

std::string identifierOf(const Encoding &encoding) {
  std::string name = nameOf(encoding);
  auto [kind, group] = llvm::StringRef(name).split('/');
  return group.empty() ? kind.str() : (kind + "_g" + group).str();
}

ObjectOptions objectOptionsOf(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return {"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma,+f16c"};
  case Isa::AvxVnni:
    return {"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma,+f16c,+avxvnni"};
  case Isa::Avx512Vnni:
    return {"x86_64-unknown-linux-gnu", "x86-64",
            "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni"};
  case Isa::Neon:
    return {"aarch64-unknown-linux-gnu", "generic", "+neon,-dotprod,-fullfp16"};
  case Isa::Dotprod:
    return {"aarch64-unknown-linux-gnu", "generic", "+dotprod,+fullfp16"};
  case Isa::I8mm:
    return {"aarch64-unknown-linux-gnu", "generic", "+dotprod,+fullfp16,+i8mm"};
  }
  return {};
}

static bool writeFile(const std::string &path, const void *data, size_t size) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return false;
  stream.write(static_cast<const char *>(data), size);
  stream.close();
  return !stream.has_error();
}

/// Runs a program of the path or at an absolute place; empty, or what went wrong.
static std::string runProgram(std::vector<std::string> arguments, const std::string &output = "") {
  auto path = llvm::sys::findProgramByName(arguments[0]);
  if (!path)
    return "there is no program " + arguments[0];
  std::vector<llvm::StringRef> references(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[3] = {std::nullopt, std::nullopt, std::nullopt};
  if (!output.empty())
    redirects[1] = output;
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*path, references, std::nullopt, redirects, 0, 0, &message);
  return status == 0 ? "" : arguments[0] + " ended with status " + std::to_string(status) + " " + message;
}

static std::string whyUnavailable(Isa isa) {
  if (familyOf(isa) == LayoutFamily::Arm64) {
    for (const char *program : {"qemu-aarch64", "aarch64-linux-gnu-gcc"})
      if (!llvm::sys::findProgramByName(program))
        return std::string("there is no program ") + program;
    return "";
  }
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<llvm::StringRef> needed;
  llvm::StringRef(isa == Isa::Avx512Vnni ? kAvx512
                  : isa == Isa::AvxVnni  ? "avx2,fma,f16c,avxvnni"
                                         : "avx2,fma,f16c")
      .split(needed, ',');
  for (llvm::StringRef feature : needed)
    if (!features.lookup(feature))
      return "this processor has no " + feature.str();
  return "";
}

CompiledKernel::CompiledKernel(Isa isa, const Generator &generate) : isa(isa), missing(whyUnavailable(isa)) {
  static int number = 0;
  stem = std::string(KERNELS_WORK_DIR) + "/kernel-" + std::to_string(getpid()) + "-" + std::to_string(number++);
  DialectRegistry registry;
  registerLLVMPipelineDialects(registry);
  registerObjectTranslations(registry);
  MLIRContext context(registry);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, builder.getUnknownLoc());
  KernelContext kernel{builder, builder.getUnknownLoc(), isa};
  generate(kernel, *module);
  if (failed(verify(*module))) {
    missing = "the kernel does not verify";
    std::abort();
  }
  llvm::cantFail(lowerToLLVMDialect(*module));
  auto object = llvm::cantFail(emitObject(*module, objectOptionsOf(isa)));
  if (!writeFile(stem + ".o", object.data(), object.size()))
    std::abort();
}

CompiledKernel::~CompiledKernel() {
  if (library)
    dlclose(library);
  for (const char *extension : {".o", ".so", ".elf", ".in", ".out", ".txt"})
    llvm::sys::fs::remove(stem + extension);
}

std::string CompiledKernel::run(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars) {
  for (Buffer &buffer : buffers)
    buffer.insert(buffer.end(), kGuardBytes, kGuard);
  std::string wrong = familyOf(isa) == LayoutFamily::X86 ? runHere(buffers, scalars) : runEmulated(buffers, scalars);
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t at = buffers[i].size() - kGuardBytes; at < buffers[i].size(); ++at)
      if (buffers[i][at] != kGuard && wrong.empty())
        wrong = "wrote behind argument " + std::to_string(i);
    buffers[i].resize(buffers[i].size() - kGuardBytes);
  }
  return wrong;
}

std::string CompiledKernel::runHere(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars) {
  if (!library) {
    std::string wrong = runProgram({KERNELS_LD, "-shared", stem + ".o", "-o", stem + ".so"});
    if (!wrong.empty())
      return wrong;
    library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return dlerror();
  }
  // Surplus integer arguments are harmless in the calling conventions of both architectures.
  int64_t a[16] = {};
  size_t count = 0;
  std::vector<uint8_t *> copies;
  for (Buffer &buffer : buffers) {
    auto *copy = static_cast<uint8_t *>(std::aligned_alloc(64, (buffer.size() + 63) / 64 * 64));
    std::memcpy(copy, buffer.data(), buffer.size());
    copies.push_back(copy);
    a[count++] = reinterpret_cast<intptr_t>(copy);
  }
  for (int64_t scalar : scalars)
    a[count++] = scalar;
  using I = int64_t;
  auto *function = reinterpret_cast<void (*)(I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I)>(dlsym(library, "kernel"));
  function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::memcpy(buffers[i].data(), copies[i], buffers[i].size());
    std::free(copies[i]);
  }
  return "";
}

std::string CompiledKernel::runEmulated(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars) {
  std::string wrong;
  if (!llvm::sys::fs::exists(stem + ".elf"))
    wrong = runProgram({"aarch64-linux-gnu-gcc", "-static", "-O1", KERNELS_DRIVER, stem + ".o", "-o", stem + ".elf"});
  if (!wrong.empty())
    return wrong;
  Buffer input;
  auto number = [&](int64_t value) {
    auto *bytes = reinterpret_cast<uint8_t *>(&value);
    input.insert(input.end(), bytes, bytes + 8);
  };
  number((int64_t)buffers.size());
  number((int64_t)scalars.size());
  for (size_t i = 0; i < 4; ++i)
    number(i < scalars.size() ? scalars[i] : 0);
  for (Buffer &buffer : buffers) {
    number((int64_t)buffer.size());
    input.insert(input.end(), buffer.begin(), buffer.end());
  }
  if (!writeFile(stem + ".in", input.data(), input.size()))
    return "cannot write " + stem + ".in";
  // The oldest core that the level is for: an instruction that it lacks ends the run.
  const char *cpu = isa == Isa::Neon ? "cortex-a57" : isa == Isa::Dotprod ? "cortex-a76" : "max";
  wrong = runProgram({"qemu-aarch64", "-cpu", cpu, stem + ".elf", stem + ".in", stem + ".out"});
  if (!wrong.empty())
    return wrong;
  auto output = llvm::MemoryBuffer::getFile(stem + ".out");
  if (!output)
    return "cannot read " + stem + ".out";
  const char *at = (*output)->getBufferStart();
  for (Buffer &buffer : buffers) {
    if (at + buffer.size() > (*output)->getBufferEnd())
      return "the driver wrote too few bytes";
    std::memcpy(buffer.data(), at, buffer.size());
    at += buffer.size();
  }
  return "";
}

std::string CompiledKernel::disassembly() const {
  std::string wrong = runProgram({KERNELS_OBJDUMP, "-d", "--no-show-raw-insn", stem + ".o"}, stem + ".txt");
  if (!wrong.empty())
    return wrong;
  auto text = llvm::MemoryBuffer::getFile(stem + ".txt");
  return text ? (*text)->getBuffer().str() : "";
}

} // namespace moec
