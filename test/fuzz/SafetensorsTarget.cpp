// SPDX-License-Identifier: Apache-2.0
/// \file
/// The safetensors reader on arbitrary files.
#include "test/fuzz/Targets.h"

#include "lib/Import/Safetensors.h"
#include "lib/Import/WeightReader.h"

namespace moec::fuzz {

void fuzzSafetensors(Bytes input) {
  llvm::StringRef content(reinterpret_cast<const char *>(input.data()), input.size());
  std::string path = writeScratch("model.safetensors", content);
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path, "model.safetensors");
  if (!file)
    return expectMessage(file.takeError());
  uint64_t end = 0;
  for (const SafetensorsEntry &entry : file->entries()) {
    expect(entry.offsetBytes >= end && entry.sizeBytes <= input.size() &&
               entry.offsetBytes <= input.size() - entry.sizeBytes,
           "a tensor lies outside of its file or in another tensor");
    end = entry.offsetBytes + entry.sizeBytes;
    if (!isWeightType(entry.type) || entry.shape.size() != 2)
      continue;
    uint64_t rows = entry.shape[0], columns = entry.shape[1];
    std::vector<float> row(entry.sizeBytes ? columns : 0);
    if (row.empty())
      continue;
    WeightSource source{&file->file(), entry.type, entry.offsetBytes, rows, columns};
    expect(!readWeightRows(source, rows - 1, 1, row), "the last row of a weight cannot be read");
  }
}

} // namespace moec::fuzz
