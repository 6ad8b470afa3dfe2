// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything about a pack but its weights: tensors, records, offsets, parts and the identity of the plan. The pack
/// step fills it from the IR, the writer follows it. Main source: docs/pack-format.md.
#ifndef LIB_PACK_PACKPLAN_H
#define LIB_PACK_PACKPLAN_H

#include "lib/Pack/Layout.h"
#include "lib/Pack/TensorTable.h"
#include "lib/Support/Hash.h"
#include "moert/PackFormat.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// Writes rows [rowBegin, rowEnd) of a generated tensor. Called by several threads; must depend on nothing else.
using RowGenerator = std::function<void(int64_t rowBegin, int64_t rowEnd, llvm::MutableArrayRef<float> out)>;

struct PackTensor {
  TensorEntry entry; ///< record and offset are set by `finish`
  uint64_t bytes = 0;
  RowGenerator generate; ///< empty: the values come from the TensorSource
  std::string recipe;    ///< what a generated tensor holds, e.g. "rope cos theta=10000"; else how codes are made, if
                         ///< other than by rounding: "verbatim"
};

/// A matrix of an expert: y = W x.
struct ExpertMatrix {
  std::string name;
  int64_t rows, cols;
  Encoding encoding;
};

struct PackRecord {
  moepack_record record{};     ///< its checksum is set by the writer
  std::vector<size_t> tensors; ///< ascending by offset
};

/// Parts are at most this many, the limit of the runtime.
inline constexpr uint32_t kMaxPackParts = 256;

/// States: open (add…) -> finished (finish; then the results can be asked for). Tensors are numbered as they are added.
/// Errors of every add: shapes and encodings that cannot be stored, sizes beyond 2^64 bytes; they name the tensor.
class PackPlan {
public:
  /// `compilerVersion` becomes part of the plan's identity.
  PackPlan(LayoutFamily family, std::string compilerVersion)
      : layoutFamily(family), compilerVersion(std::move(compilerVersion)) {}

  /// A resident matrix in the layout of the family. `segmentOffset`: where the plan stage has placed it in the resident
  /// segment (a multiple of 64, behind the tensor before); absent: the next free place of `ResidentSegment`.
  /// `layer` stands in messages, -1 = none. Returns the tensor's number.
  llvm::Expected<size_t> addResident(llvm::StringRef name, int64_t rows, int64_t cols, Encoding encoding,
                                     int32_t layer = -1, std::optional<uint64_t> segmentOffset = std::nullopt);
  /// A resident vector or table of f32, row-major.
  llvm::Expected<size_t> addResidentRaw(llvm::StringRef name, int64_t rows, int64_t cols, int32_t layer = -1,
                                        std::optional<uint64_t> segmentOffset = std::nullopt);
  /// The same with values from `generate`; `recipe` says what they are and becomes part of the plan's identity.
  llvm::Expected<size_t> addGenerated(llvm::StringRef name, int64_t rows, int64_t cols, llvm::StringRef recipe,
                                      RowGenerator generate, std::optional<uint64_t> segmentOffset = std::nullopt);
  /// A table that is read by rows.
  llvm::Expected<size_t> addRowTable(llvm::StringRef name, int64_t rows, int64_t cols, Encoding encoding);
  /// One expert; gate, up and down get consecutive numbers, of which the first is returned.
  llvm::Expected<size_t> addExpert(int32_t layer, int32_t expert, const std::array<ExpertMatrix, 3> &matrices);
  /// Says how the codes of a tensor are made; becomes part of the plan's identity.
  void setRecipe(size_t tensor, llvm::StringRef recipe) { tensorList[tensor].recipe = recipe.str(); }
  /// A file that weights come from. The order counts, the name does not.
  void addSource(uint64_t sizeBytes, const Digest128 &hash);

  /// Numbers the records (resident, row tables, experts; each in the order of adding), assigns offsets and parts, and
  /// computes the identity. `partBytes` 0: one part.
  /// Errors: nothing to write, an expert twice, a record larger than a part, more than kMaxPackParts parts.
  llvm::Error finish(uint64_t partBytes = 0);

  LayoutFamily family() const { return layoutFamily; }
  llvm::ArrayRef<PackTensor> tensors() const { return tensorList; }
  llvm::ArrayRef<PackRecord> records() const { return recordList; }
  llvm::ArrayRef<moepack_part> parts() const { return partList; }
  /// The header but for the hashes.
  const moepack_header &header() const { return packHeader; }
  /// The text that `header().tensor_table_offset` points to.
  const std::string &tensorTable() const { return tableText; }
  /// Does not depend on the instruction level or the part size: packs of all targets of a family are the same bytes.
  const Digest128 &planId() const { return identity; }

  uint64_t residentBytes() const { return packHeader.resident_bytes; }
  /// Of the largest expert record; 0 = no experts.
  uint64_t expertRecordBytes() const { return largestExpert; }
  uint64_t numExpertRecords() const { return expertRecords.size(); }
  /// Where a resident tensor lies in the resident segment.
  uint64_t residentOffset(size_t tensor) const;
  /// The layout of a tensor whose storage is Matrix.
  Layout layoutOf(size_t tensor) const;

private:
  llvm::Expected<size_t> addSegmentTensor(PackTensor tensor, int32_t layer, std::optional<uint64_t> segmentOffset);
  size_t addTensor(PackTensor tensor);
  llvm::Error placeRecords();
  llvm::Error cutParts(uint64_t partBytes);
  void computeIdentity();

  LayoutFamily layoutFamily;
  std::string compilerVersion, sourceText, tableText;
  std::vector<PackTensor> tensorList;
  // Until `finish`, offsets of resident records are in the segment and those of others are not set.
  std::vector<PackRecord> residentRecords, rowRecords, expertRecords, recordList;
  std::vector<moepack_part> partList;
  moepack_header packHeader{};
  Digest128 identity;
  uint64_t residentEnd = 0, largestExpert = 0;
};

} // namespace moec

#endif
