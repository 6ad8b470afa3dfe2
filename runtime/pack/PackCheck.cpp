// SPDX-License-Identifier: Apache-2.0
/// \file
/// For programs that look at a pack without opening the model.
#include "moert/PackCheck.h"

#include "runtime/pack/PackFile.h"

moert_status moert_check_pack(const moert_model_descriptor *descriptor, const moert_open_options *options,
                              moert_pack_check *check, moert_error *error) {
  uint8_t piece[256 * sizeof(moepack_record)];
  moert::PackFile pack = {};
  moert_status status = pack.open(*descriptor, *options, {}, error);
  if (status == MOERT_STATUS_OK)
    status = pack.checkDirectory(piece, sizeof(piece), error);
  if (status == MOERT_STATUS_OK)
    *check = {pack.header.total_bytes, pack.partOf(0).bytes, pack.header.num_parts};
  pack.close();
  return status;
}
