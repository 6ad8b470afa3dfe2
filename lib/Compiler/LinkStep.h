// SPDX-License-Identifier: Apache-2.0
/// \file
/// The last step: descriptor, shared object and report. Step: link. Main source: docs/architecture.md ("ABI").
#ifndef LIB_COMPILER_LINKSTEP_H
#define LIB_COMPILER_LINKSTEP_H

#include "include/moert/moert.h"
#include "lib/Compiler/Descriptor.h"
#include "lib/Compiler/PackStep.h"
#include "lib/Target/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace moec {

struct LinkInputs {
  mlir::ModuleOp module;       ///< at least attributes and weights
  llvm::ArrayRef<char> object; ///< the generated code
  const PackPlanOfModule &pack;
  Digest128 weightsId;
  std::string prefix;                 ///< of OUT.so and OUT.report.json, on Android also of the folder OUT.run
  std::string packPath;               ///< for the folder OUT.run
  std::string ndk;                    ///< an NDK whose libraries take the place of the stubs, or empty
  std::string programFolder;          ///< the runtime archives are in ../lib/moert of it
  std::string *chatRefusal = nullptr; ///< receives why the chat template was refused, if it was
};

/// Adds OUT.so and OUT.report.json to `outputs`. A budget given at compile time that turns out to be too small is an
/// error with the bytes needed and the largest consumers.
llvm::Error linkModel(const LinkInputs &inputs, OutputTransaction &outputs);

/// Says whether there is a runtime archive for the platform of `target`.
llvm::Error checkRuntime(const TargetDescription &target, llvm::StringRef programFolder);

/// What the runtime will plan for a described model under `budgetBytes` (0: everything resident). Errors: as at open.
llvm::Expected<moert_plan_info> planOf(const DescriptorContent &content, uint64_t codeBytes, uint64_t budgetBytes,
                                       uint32_t expertsUsed = 0);

/// The tokenizer's tables, from the file that the module names or generated.
llvm::Expected<std::vector<uint8_t>> tokenizerOf(mlir::ModuleOp module, uint32_t vocabSize);

/// The bytes of section `name` of an object file as text. Errors: no ELF object, no such section.
llvm::Expected<std::string> sectionText(llvm::StringRef object, llvm::StringRef file, llvm::StringRef name);

/// The weights identity of an existing pack. Errors: no pack, or one of another plan.
llvm::Expected<Digest128> packIdentity(llvm::StringRef path, const Digest128 &planId);

} // namespace moec

#endif
