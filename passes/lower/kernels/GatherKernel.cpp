// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: rows of a resident matrix in kernel layout become f32 activations; a tied model looks its tokens up in its
/// head. Step: lower. Main source: lib/Pack/Layout.h.
#include "lib/Pack/Layout.h"
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

namespace {

/// What of a value's place depends on its row in the tile; all of it is added to what depends on the column.
struct RowPlace {
  int64_t bytes = 0, shift = 0, highBytes = 0, highShift = 0, bias = 0, scale = 0, minimum = 0;
};

/// One for each row of a tile. Nothing if rows and columns cannot be told apart in an address of the layout.
std::optional<SmallVector<RowPlace>> placesOf(const Layout &layout) {
  SmallVector<RowPlace> places;
  bool isInteger = layout.encoding().isInteger();
  for (int64_t r = 0; r < layout.rowTile(); ++r) {
    RowPlace place;
    for (int64_t k = 0; k < (isInteger ? layout.encoding().group : 1); ++k) {
      CodeLocation at = layout.locate(r, k), first = layout.locate(0, k);
      RowPlace here{at.byteOffset - first.byteOffset, at.shift - first.shift, at.highOffset - first.highOffset,
                    at.highShift - first.highShift};
      if (k == 0)
        place = here;
      else if (here.bytes != place.bytes || here.shift != place.shift || here.highBytes != place.highBytes ||
               here.highShift != place.highShift)
        return std::nullopt;
    }
    place.bias = layout.codeBias(r);
    if (isInteger)
      place.scale = layout.scaleOffset(r, 0);
    if (layout.encoding().minimum)
      place.minimum = layout.minimumOffset(r, 0);
    places.push_back(place);
  }
  return places;
}

llvm::Expected<Layout> layoutOf(const GatherSpec &spec, LayoutFamily family) {
  return Layout::create(family, spec.rows, spec.columns, spec.encoding, "gather");
}

/// One token of the kernel while it is built.
struct RowGatherer {
  FloatBuilder &f;
  const Layout &layout;
  ArrayRef<RowPlace> places;
  Value bytes, out, token, row;

  OpBuilder &builder() { return f.getBuilder(); }
  Location loc() { return bytes.getLoc(); }

  /// `member` of the row's place, in the row tile's order a product or a choice.
  Value ofRow(int64_t RowPlace::*member) {
    int64_t first = places[0].*member, step = places.size() > 1 ? places[1].*member - first : 0;
    bool isAffine = llvm::all_of(llvm::enumerate(places), [&](auto entry) {
      return entry.value().*member == first + step * static_cast<int64_t>(entry.index());
    });
    if (isAffine)
      return step ? f.add(f.multiply(row, step), first) : f.index(first);
    Value value = f.index(first);
    for (auto [r, place] : llvm::enumerate(places))
      value = f.select(f.compare(arith::CmpIPredicate::eq, row, f.index(r)), f.index(place.*member), value);
    return value;
  }

  Value splatOfRow(int64_t RowPlace::*member) { return f.splat(f.indexToI32(ofRow(member))); }
  Value lanes(ArrayRef<int32_t> values) {
    return arith::ConstantOp::create(builder(), loc(), builder().getI32VectorAttr(values));
  }

  /// 16 bytes from `offsets` behind `base`, as i32 from 0 to 255: one load for each run of neighbours.
  Value loadSixteen(Value base, ArrayRef<int64_t> offsets) {
    Value all;
    for (size_t begin = 0; begin < offsets.size();) {
      size_t end = begin + 1;
      while (end < offsets.size() && offsets[end] == offsets[end - 1] + 1)
        ++end;
      Value run = f.loadBytes(bytes, f.add(base, offsets[begin]), f.i8(), end - begin);
      if (end - begin == offsets.size())
        all = run;
      else
        all = vector::InsertStridedSliceOp::create(
            builder(), loc(), run, all ? all : Value(f.integerLike(VectorType::get({kFloatLanes}, f.i8()), 0)),
            ArrayRef<int64_t>{static_cast<int64_t>(begin)}, ArrayRef<int64_t>{1});
      begin = end;
    }
    return arith::ExtUIOp::create(builder(), loc(), VectorType::get({kFloatLanes}, f.i32()), all);
  }

  /// `count` bits of each lane from bit `shifts` plus that of the row on.
  Value bitsOf(Value lane, ArrayRef<int32_t> shifts, int64_t RowPlace::*shiftOfRow, int64_t count) {
    Value by = arith::AddIOp::create(builder(), loc(), lanes(shifts), splatOfRow(shiftOfRow));
    Value moved = arith::ShRUIOp::create(builder(), loc(), lane, by);
    return arith::AndIOp::create(builder(), loc(), moved, f.integerLike(moved.getType(), (int64_t(1) << count) - 1));
  }

  /// Codes of columns [k, k + 16) of the group whose block begins at `block`, as i32.
  Value loadCodes(Value block, int64_t k) {
    SmallVector<int64_t, kFloatLanes> offsets, highOffsets;
    SmallVector<int32_t, kFloatLanes> shifts, highShifts;
    for (int64_t lane = 0; lane < kFloatLanes; ++lane) {
      CodeLocation at = layout.locate(0, k + lane);
      offsets.push_back(at.byteOffset);
      shifts.push_back(at.shift);
      highOffsets.push_back(at.highOffset);
      highShifts.push_back(at.highShift);
    }
    int64_t bits = layout.encoding().bits();
    Value stored = loadSixteen(f.add(block, ofRow(&RowPlace::bytes)), offsets);
    if (bits < 8)
      stored = bitsOf(stored, shifts, &RowPlace::shift, 4);
    if (bits == 6) {
      Value high = loadSixteen(f.add(block, ofRow(&RowPlace::highBytes)), highOffsets);
      high = bitsOf(high, highShifts, &RowPlace::highShift, 2);
      high = arith::ShLIOp::create(builder(), loc(), high, f.integerLike(high.getType(), 4));
      stored = arith::OrIOp::create(builder(), loc(), stored, high);
    }
    // stored = (code + bias) mod 2^bits: without the bias, the code's sign is the highest of these bits.
    Value code = arith::SubIOp::create(builder(), loc(), stored, splatOfRow(&RowPlace::bias));
    Value unused = f.integerLike(code.getType(), 32 - bits);
    return arith::ShRSIOp::create(builder(), loc(), arith::ShLIOp::create(builder(), loc(), code, unused), unused);
  }

  Value half(Value at) { return f.extract(f.fromHalf(f.loadBytes(bytes, at, builder().getF16Type(), 1)), 0); }

  void emitCodes(Value tile) {
    int64_t group = layout.encoding().group;
    f.loop(f.index(0), f.index(layout.numGroups()), 1, [&](Value number) {
      Value block = f.add(tile, f.multiply(number, layout.blockBytes())), first = f.multiply(number, group);
      Value scale = f.splat(half(f.add(block, ofRow(&RowPlace::scale)))), minimum;
      if (layout.encoding().minimum)
        minimum = f.splat(half(f.add(block, ofRow(&RowPlace::minimum))));
      for (int64_t k = 0; k < group; k += kFloatLanes) {
        Value y = f.mulf(f.toFloat(loadCodes(block, k)), scale);
        f.storeVector(minimum ? f.addf(y, minimum) : y, out, {token, f.add(first, k)});
      }
    });
  }

  void emitFloats(Value tile) {
    bool isHalf = layout.encoding().kind == EncodingKind::f16;
    Value start = f.add(tile, ofRow(&RowPlace::bytes));
    f.loop(f.index(0), f.index(layout.cols()), 1, [&](Value column) {
      Value at = f.add(start, f.multiply(column, layout.blockBytes()));
      Value value = f.loadBytes(bytes, at, isHalf ? Type(builder().getF16Type()) : f.f32(), 1);
      f.storeVector(isHalf ? f.fromHalf(value) : value, out, {token, column});
    });
  }
};

} // namespace

llvm::Error check(const GatherSpec &spec) {
  for (LayoutFamily family : {LayoutFamily::Arm64, LayoutFamily::X86}) {
    llvm::Expected<Layout> layout = layoutOf(spec, family);
    if (!layout)
      return layout.takeError();
    assert(placesOf(*layout) && "rows and columns of a layout cannot be told apart");
  }
  if (spec.maxTokens < 1)
    return llvm::createStringError("gather expects at least 1 token, but got %lld", (long long)spec.maxTokens);
  return llvm::Error::success();
}

func::FuncOp buildGather(KernelContext &context, ModuleOp module, StringRef name, const GatherSpec &spec) {
  Layout layout = llvm::cantFail(layoutOf(spec, familyOf(context.isa)));
  SmallVector<RowPlace> places = *placesOf(layout);
  Builder types(module.getContext());
  Type weight = MemRefType::get({layout.totalBytes()}, types.getI8Type());
  Type tokens = MemRefType::get({spec.maxTokens}, types.getI32Type());
  Type out = MemRefType::get({spec.maxTokens, spec.columns}, types.getF32Type());
  return buildFloatKernel(context, module, name, {weight, tokens, out},
                          [&](FloatBuilder &f, const FloatKernelArguments &a) {
                            f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
                              Value id = f.i32ToIndex(f.load(a.memrefs[1], {token}));
                              Value tile = f.divide(id, layout.rowTile());
                              Value row = f.subtract(id, f.multiply(tile, layout.rowTile()));
                              RowGatherer gatherer{f, layout, places, a.memrefs[0], a.memrefs[2], token, row};
                              Value start = f.multiply(tile, layout.tileBytes());
                              spec.encoding.isInteger() ? gatherer.emitCodes(start) : gatherer.emitFloats(start);
                            });
                          });
}

} // namespace moec
