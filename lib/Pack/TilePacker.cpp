// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of runs from the address function, and the loops that follow them.
#include "lib/Pack/TilePacker.h"

#include "lib/Quant/Quantize.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using llvm::support::endian::write16le;

namespace moec {

namespace {

constexpr uint64_t kNoSource = UINT64_MAX;

/// Whether `runBytes` bytes at a time come from consecutive columns and have one bias; `sources` [parts][bytes].
bool isRunLength(int64_t runBytes, llvm::ArrayRef<uint32_t> targets, llvm::ArrayRef<uint64_t> sources,
                 llvm::ArrayRef<uint8_t> biases) {
  if (targets.size() % runBytes)
    return false;
  for (size_t at = 0; at < sources.size(); ++at) {
    size_t byte = at % targets.size(), inRun = byte % runBytes;
    if (targets[byte] != targets[byte - inRun] + inRun || sources[at] != sources[at - inRun] + inRun ||
        biases[byte] != biases[byte - inRun])
      return false;
  }
  return true;
}

/// A byte in every byte of a word.
template <typename Word> constexpr Word splat(uint64_t byte) { return static_cast<Word>(byte * 0x0101010101010101); }

/// Moves the runs of a block. What is added to a code is a single bit or 0: in a part of `kPartBits` bits that is an
/// exclusive or.
template <typename Word, int kPartBits>
void moveRuns(int codeShift, llvm::ArrayRef<uint32_t> targets, const uint64_t *sources, const uint8_t *biases,
              const int8_t *codes, uint8_t *out) {
  constexpr int kParts = 8 / kPartBits;
  for (size_t run = 0; run < targets.size(); ++run) {
    Word stored = splat<Word>(biases[run]);
    for (int part = 0; part < kParts; ++part) {
      Word word;
      std::memcpy(&word, codes + sources[part * targets.size() + run], sizeof(Word));
      word = static_cast<Word>((word >> codeShift) & splat<Word>((1u << kPartBits) - 1));
      stored ^= static_cast<Word>(word << (part * kPartBits));
    }
    std::memcpy(out + targets[run], &stored, sizeof(Word));
  }
}

template <int kPartBits>
void moveRunsOf(int64_t runBytes, int codeShift, llvm::ArrayRef<uint32_t> targets, const uint64_t *sources,
                const uint8_t *biases, const int8_t *codes, uint8_t *out) {
  switch (runBytes) {
  case 8:
    return moveRuns<uint64_t, kPartBits>(codeShift, targets, sources, biases, codes, out);
  case 4:
    return moveRuns<uint32_t, kPartBits>(codeShift, targets, sources, biases, codes, out);
  case 2:
    return moveRuns<uint16_t, kPartBits>(codeShift, targets, sources, biases, codes, out);
  default:
    return moveRuns<uint8_t, kPartBits>(codeShift, targets, sources, biases, codes, out);
  }
}

} // namespace

TilePacker::TilePacker(const Layout &layout) : layout(layout) {
  const Encoding &encoding = layout.encoding();
  if (!encoding.isInteger())
    return;
  planes.push_back(planeOf(0, encoding.bits() == 8 ? 8 : 4));
  if (encoding.bits() == 6)
    planes.push_back(planeOf(4, 2));
}

TilePacker::Plane TilePacker::planeOf(int codeShift, int partBits) const {
  // Tile 0, group 0: offsets are relative to the block there. Every block has its values at the same places.
  int64_t parts = 8 / partBits, codeBytes = layout.codeBytes(), group = layout.encoding().group;
  std::vector<uint64_t> sourceOf(parts * codeBytes, kNoSource); // [parts][codeBytes]
  std::vector<uint8_t> biasOf(codeBytes, 0);
  for (int64_t r = 0; r < layout.rowTile(); ++r)
    for (int64_t k = 0; k < group; ++k) {
      CodeLocation at = layout.locate(r, k);
      int64_t byte = codeShift ? at.highOffset : at.byteOffset;
      int part = (codeShift ? at.highShift : at.shift) / partBits;
      sourceOf[part * codeBytes + byte] = static_cast<uint64_t>(r * layout.cols() + k);
      biasOf[byte] |= ((layout.codeBias(r) >> codeShift) & ((1 << partBits) - 1)) << (part * partBits);
    }
  std::vector<uint32_t> targets;
  std::vector<uint64_t> sources;
  std::vector<uint8_t> biases;
  for (int64_t byte = 0; byte < codeBytes; ++byte)
    if (sourceOf[byte] != kNoSource) {
      targets.push_back(static_cast<uint32_t>(byte));
      biases.push_back(biasOf[byte]);
    }
  for (int64_t part = 0; part < parts; ++part)
    for (uint32_t byte : targets)
      sources.push_back(sourceOf[part * codeBytes + byte]);
  assert(!llvm::is_contained(sources, kNoSource) && "every part of a byte holds a code");
  Plane plane{codeShift, partBits, 8, {}, {}, {}};
  while (!isRunLength(plane.runBytes, targets, sources, biases))
    plane.runBytes /= 2;
  for (size_t byte = 0; byte < targets.size(); byte += plane.runBytes) {
    plane.targets.push_back(targets[byte]);
    plane.biases.push_back(biases[byte]);
  }
  for (size_t at = 0; at < sources.size(); at += plane.runBytes)
    plane.sources.push_back(sources[at]);
  return plane;
}

void TilePacker::packPlane(const Plane &plane, const int8_t *codes, uint8_t *out) const {
  int64_t group = layout.encoding().group, groups = layout.numGroups(), blockBytes = layout.blockBytes();
  for (int64_t g = 0; g < groups; ++g, codes += group, out += blockBytes) {
    auto move = plane.partBits == 8 ? moveRunsOf<8> : plane.partBits == 4 ? moveRunsOf<4> : moveRunsOf<2>;
    move(plane.runBytes, plane.codeShift, plane.targets, plane.sources.data(), plane.biases.data(), codes, out);
  }
}

int64_t TilePacker::rowsInTile(int64_t tile) const {
  return std::min(layout.rowTile(), layout.rows() - tile * layout.rowTile());
}

void TilePacker::pack(int64_t tile, llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales,
                      llvm::MutableArrayRef<uint8_t> out) const {
  const Encoding &encoding = layout.encoding();
  int64_t given = rowsInTile(tile), groups = layout.numGroups(), numScales = encoding.numScales(layout.cols());
  int64_t blockBytes = layout.blockBytes();
  assert(encoding.isInteger() && int64_t(out.size()) == layout.tileBytes() && "wrong buffer");
  assert(int64_t(codes.size()) == given * layout.cols() && int64_t(scales.size()) == given * numScales && "wrong rows");
  std::vector<int8_t> padded;
  if (given < layout.rowTile()) {
    padded.assign(layout.rowTile() * layout.cols(), 0);
    std::copy(codes.begin(), codes.end(), padded.begin());
    codes = padded;
  }
  for (const Plane &plane : planes)
    packPlane(plane, codes.data(), out.data());
  for (int64_t r = 0; r < layout.rowTile(); ++r) {
    uint8_t *scale = out.data() + layout.scaleOffset(r, 0);
    uint8_t *minimum = encoding.minimum ? out.data() + layout.minimumOffset(r, 0) : nullptr;
    const uint16_t *row = r < given ? scales.data() + r * numScales : nullptr;
    for (int64_t g = 0; g < groups; ++g) {
      write16le(scale + g * blockBytes, row ? row[g] : 0);
      if (minimum)
        write16le(minimum + g * blockBytes, row ? row[groups + g] : 0);
    }
  }
}

void TilePacker::pack(int64_t tile, llvm::ArrayRef<float> values, llvm::MutableArrayRef<uint8_t> out) const {
  int64_t given = rowsInTile(tile), cols = layout.cols(), blockBytes = layout.blockBytes();
  assert(!layout.encoding().isInteger() && int64_t(out.size()) == layout.tileBytes() && "wrong buffer");
  assert(int64_t(values.size()) == given * cols && "wrong rows");
  for (int64_t r = 0; r < layout.rowTile(); ++r) {
    uint8_t *place = out.data() + layout.locate(r, 0).byteOffset;
    for (int64_t k = 0; k < cols; ++k)
      packFloat(r < given ? values[r * cols + k] : 0.0f, layout.encoding(), place + k * blockBytes);
  }
}

} // namespace moec
