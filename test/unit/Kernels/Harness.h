// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds one kernel for an instruction level and runs it: x86 in this process, ARM by emulation. Main source:
/// passes/lower/kernels/Linear.h.
#ifndef TEST_UNIT_KERNELS_HARNESS_H
#define TEST_UNIT_KERNELS_HARNESS_H

#include "lib/Object/Object.h"
#include "passes/lower/kernels/Linear.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace moec {

using Buffer = std::vector<uint8_t>;

/// A kernel that was compiled for one level. The generator must call its function "kernel".
class CompiledKernel {
public:
  using Generator = std::function<void(KernelContext &, mlir::ModuleOp)>;

  CompiledKernel(Isa isa, const Generator &generate);
  ~CompiledKernel();
  CompiledKernel(const CompiledKernel &) = delete;
  CompiledKernel &operator=(const CompiledKernel &) = delete;

  /// Empty, or why this level cannot run here.
  const std::string &unavailable() const { return missing; }
  /// Calls the kernel; buffers are changed in place. Bytes behind each buffer are checked. Empty, or what went wrong.
  std::string run(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars);
  /// Disassembly without addresses and raw bytes.
  std::string disassembly() const;

private:
  std::string runHere(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars);
  std::string runEmulated(std::vector<Buffer> &buffers, const std::vector<int64_t> &scalars);

  Isa isa;
  std::string missing;
  /// Path without extension of this kernel's files.
  std::string stem;
  void *library = nullptr;
};

const std::vector<Isa> &allLevels();
std::string levelName(Isa isa);
/// What objects of a level are compiled for.
ObjectOptions objectOptionsOf(Isa isa);
/// "i4m_g32": the encoding as a part of a test's name.
std::string identifierOf(const Encoding &encoding);

} // namespace moec

#endif
