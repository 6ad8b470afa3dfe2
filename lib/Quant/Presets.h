// SPDX-License-Identifier: Apache-2.0
/// \file
/// The presets of `--quant`: an encoding for each weight by its role. Main source: docs/precision.md ("Presets").
#ifndef LIB_QUANT_PRESETS_H
#define LIB_QUANT_PRESETS_H

#include "lib/Quant/PrecisionRules.h"

namespace moec {

/// "f32", "int8", "mixed", …
llvm::ArrayRef<llvm::StringLiteral> presetNames();

/// The encodings of `weights` under `preset` and `group` ("auto", "32", "64", "128"), not yet checked against columns.
/// The preset `source` takes the encoding that keeps the checkpoint's own type (SourceEncoding.h).
/// With auto the group is 32, and a matrix whose columns 32 does not divide is f16.
/// Errors: an unknown preset (with the reason for 4 bits as the floor where it asks for less) or group, another
/// group than auto with `source`.
llvm::Expected<std::vector<Encoding>> presetEncodings(llvm::ArrayRef<WeightFacts> weights, llvm::StringRef preset,
                                                      llvm::StringRef group);
/// The errors of `presetEncodings` for a preset or a group that is not known, or success.
llvm::Error checkPreset(llvm::StringRef preset);
llvm::Error checkGroup(llvm::StringRef group);

} // namespace moec

#endif
