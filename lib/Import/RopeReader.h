// SPDX-License-Identifier: Apache-2.0
/// \file
/// How positions rotate, from the several places of a config that say so. Part of the import step. Main source:
/// transformers' `modeling_rope_utils.py`.
#ifndef LIB_IMPORT_ROPEREADER_H
#define LIB_IMPORT_ROPEREADER_H

#include "lib/Import/FieldReader.h"
#include "lib/Import/ModelConfig.h"

namespace moec {

/// Fills `config.rope`; `headDim` and `maxPositionEmbeddings` are known. Plain, linear and llama3 rotations are read;
/// any other is an error that names it, as are two places that contradict each other.
void readRope(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config);

} // namespace moec
#endif
