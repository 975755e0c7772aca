// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar intrinsics by name. In a packed pair the first operand of a
// conversion is the high half (PTX ISA, "cvt").
#include "Mma.h"
#include "Rewrite.h"
#include "Scalar.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlatile::sim;

namespace {

float flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
float quiet() { return std::numeric_limits<float>::quiet_NaN(); }

// A function and its variants that flush subnormal operands and results.
template <float (*F)(float)>
float plain1(float x) {
  return F(x);
}
template <float (*F)(float)>
float ftz1(float x) {
  return flush(F(flush(x)));
}
template <float (*F)(float, float)>
float plain2(float x, float y) {
  return F(x, y);
}
template <float (*F)(float, float)>
float ftz2(float x, float y) {
  return flush(F(flush(x), flush(y)));
}
template <float (*F)(float, float, float)>
float plain3(float x, float y, float z) {
  return F(x, y, z);
}
template <float (*F)(float, float, float)>
float ftz3(float x, float y, float z) {
  return flush(F(flush(x), flush(y), flush(z)));
}

float reciprocal(float x) { return 1.0f / x; }
float squareRoot(float x) { return std::sqrt(x); }
float reciprocalRoot(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
float sine(float x) { return static_cast<float>(std::sin(double(x))); }
float cosine(float x) { return static_cast<float>(std::cos(double(x))); }
float magnitude(float x) { return std::fabs(x); }
float roundEven(float x) { return std::nearbyint(x); }
float floorOf(float x) { return std::floor(x); }
float ceilOf(float x) { return std::ceil(x); }
float truncOf(float x) { return std::trunc(x); }
float quotient(float x, float y) { return x / y; }
float sum(float x, float y) { return x + y; }
float product(float x, float y) { return x * y; }
float sumSaturated(float x, float y) { return saturate(x + y); }
float fused(float x, float y, float z) { return std::fma(x, y, z); }
float fusedSaturated(float x, float y, float z) {
  return saturate(std::fma(x, y, z));
}

// -0 counts as less than +0; a NaN loses unless `Nan`.
template <bool Max, bool Nan, bool XorSign>
float extremum(float x, float y) {
  float sign = std::signbit(x) != std::signbit(y) ? -0.0f : 0.0f;
  if constexpr (XorSign) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  float result;
  if (std::isnan(x) || std::isnan(y)) {
    if (Nan || (std::isnan(x) && std::isnan(y)))
      return quiet();
    result = std::isnan(x) ? y : x;
  } else if (x == y) {
    result = std::signbit(x) == Max ? y : x;
  } else {
    result = (x > y) == Max ? x : y;
  }
  if constexpr (XorSign)
    result = std::copysign(result, sign);
  return result;
}

// Packed halves: both as 32-bit words, single ones as 16-bit words.
using ToFloat = float (*)(uint16_t);
using FromFloat = uint16_t (*)(float);
float bfloat(uint16_t x) { return bfloatToFloat(x); }

template <ToFloat T, FromFloat F, float (*Op)(float, float)>
uint16_t half2(uint16_t x, uint16_t y) {
  return F(Op(T(x), T(y)));
}
template <ToFloat T, FromFloat F, float (*Op)(float, float)>
uint32_t pair2(uint32_t x, uint32_t y) {
  return half2<T, F, Op>(x, y) |
         static_cast<uint32_t>(half2<T, F, Op>(x >> 16, y >> 16)) << 16;
}
/// a * b is exact in double; the sum is rounded once more to 16 bits.
template <ToFloat T, FromFloat F>
uint16_t halfFma(uint16_t x, uint16_t y, uint16_t z) {
  double exact = static_cast<double>(T(x)) * T(y);
  double total = exact + T(z);
  // Round to odd in f32, so that the rounding to 16 bits is the only one.
  float near = static_cast<float>(total);
  if (static_cast<double>(near) != total && std::isfinite(near)) {
    uint32_t bits = __builtin_bit_cast(uint32_t, near);
    if (!(bits & 1)) {
      bool away = std::fabs(static_cast<double>(near)) > std::fabs(total);
      bits += away ? -1 : 1;
    }
    near = __builtin_bit_cast(float, bits);
  }
  return F(near);
}
template <ToFloat T, FromFloat F>
uint32_t pairFma(uint32_t x, uint32_t y, uint32_t z) {
  return halfFma<T, F>(x, y, z) |
         static_cast<uint32_t>(halfFma<T, F>(x >> 16, y >> 16, z >> 16)) << 16;
}

template <FromFloat F>
uint16_t narrow(float x) {
  return F(x);
}
template <FromFloat F>
uint32_t narrowPair(float high, float low) {
  return static_cast<uint32_t>(F(high)) << 16 | F(low);
}
uint16_t halfFinite(float x) {
  uint16_t bits = floatToHalf(x);
  return (bits & 0x7fff) == 0x7c00 ? bits - 1 : bits;
}
uint16_t bfloatFinite(float x) {
  uint16_t bits = floatToBfloat(x);
  return (bits & 0x7fff) == 0x7f80 ? bits - 1 : bits;
}
template <FromFloat F>
uint16_t relu(float x) {
  return std::isnan(x) || x > 0 ? F(x) : 0;
}
uint16_t bfloatToZero(float x) {
  return std::isnan(x) ? 0x7fff : __builtin_bit_cast(uint32_t, x) >> 16;
}

template <uint8_t (*F)(float)>
uint16_t narrowBytes(float high, float low) {
  return F(high) << 8 | F(low);
}
template <uint8_t (*F)(float)>
uint16_t narrowBytesRelu(float high, float low) {
  auto positive = [](float x) { return x > 0 || std::isnan(x) ? x : 0.0f; };
  return F(positive(high)) << 8 | F(positive(low));
}
template <uint8_t (*F)(float)>
uint16_t narrowHalves(uint32_t pair) {
  return F(halfToFloat(pair >> 16)) << 8 | F(halfToFloat(pair));
}
uint16_t narrowNibbles(float high, float low) {
  return floatToE2M1(high) << 4 | floatToE2M1(low);
}
template <Element E>
uint32_t widenBytes(uint16_t pair) {
  auto one = [](uint8_t byte) -> uint32_t {
    return floatToHalf(decodeTable(E)[byte]);
  };
  return one(pair >> 8) << 16 | one(pair);
}
uint32_t widenNibbles(uint16_t pair) {
  auto one = [](unsigned nibble) -> uint32_t {
    return floatToHalf(decodeNibbleTable()[nibble & 15]);
  };
  return one(pair >> 4) << 16 | one(pair);
}
uint32_t widenScales(uint16_t pair) {
  auto one = [](uint8_t byte) -> uint32_t {
    return floatToBfloat(
        static_cast<float>(decodeScale(ScaleType::UE8M0, byte)));
  };
  return one(pair >> 8) << 16 | one(pair);
}
/// PTX ISA, "cvt" to ue8m0: the sign is ignored.
template <bool Up, bool Finite>
uint16_t narrowScales(float high, float low) {
  auto one = [](float x) -> uint16_t {
    uint32_t bits = __builtin_bit_cast(uint32_t, x) & 0x7fffffff;
    if (bits > 0x7f800000)
      return 255;
    uint32_t exponent = bits >> 23, mantissa = bits & 0x7fffff;
    // 0 stands for 2^-127, which in f32 is half the smallest normal number.
    if (Up && mantissa && (exponent || mantissa > 0x400000))
      ++exponent;
    return exponent >= 255 ? (Finite ? 254 : 255) : exponent;
  };
  return one(high) << 8 | one(low);
}

template <int Mode>
uint32_t permuteF4E(uint32_t a, uint32_t b, uint32_t c) {
  unsigned shift = c & 3;
  uint32_t selector = 0;
  for (unsigned i = 0; i < 4; ++i)
    selector |= ((Mode == 0 ? shift + i : shift - i) & 7) << 4 * i;
  return permuteBytes(a, b, selector);
}
// rc8, ecl, ecr, rc16 (the second source is not used).
template <int Mode>
uint32_t permuteOne(uint32_t a, uint32_t c) {
  unsigned s = c & 3;
  uint32_t selector = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned from = Mode == 0   ? s
                    : Mode == 1 ? std::max(i, s)
                    : Mode == 2 ? std::min(i, s)
                                : 2 * (s & 1) + i % 2;
    selector |= from << 4 * i;
  }
  return permuteBytes(a, 0, selector);
}

template <typename R, typename T>
R toInteger(T x) {
  // Saturates; NaN is 0 (PTX ISA, "cvt").
  if (std::isnan(x))
    return 0;
  constexpr T low = static_cast<T>(std::numeric_limits<R>::min());
  // The first value above the range, exact in T.
  constexpr R half = std::numeric_limits<R>::max() / 2 + 1;
  constexpr T high = static_cast<T>(half) * T(2);
  if (x < low)
    return std::numeric_limits<R>::min();
  if (x >= high)
    return std::numeric_limits<R>::max();
  return static_cast<R>(x);
}
template <typename R, typename T, int Mode>
R convert(T x) {
  return toInteger<R>(Mode == 0   ? std::nearbyint(x)
                      : Mode == 1 ? std::trunc(x)
                      : Mode == 2 ? std::floor(x)
                                  : std::ceil(x));
}

template <typename F>
const void *address(F *function) {
  return reinterpret_cast<const void *>(function);
}

using Table = llvm::StringMap<const void *>;

template <float (*F)(float)>
void add1(Table &t, const std::string &name, const char *suffix) {
  t[name + suffix] = address(plain1<F>);
  t[name + ".ftz" + suffix] = address(ftz1<F>);
}
template <float (*F)(float, float)>
void add2(Table &t, const std::string &name, const char *suffix) {
  t[name + suffix] = address(plain2<F>);
  t[name + ".ftz" + suffix] = address(ftz2<F>);
}
template <float (*F)(float, float, float)>
void add3(Table &t, const std::string &name, const char *suffix) {
  t[name + suffix] = address(plain3<F>);
  t[name + ".ftz" + suffix] = address(ftz3<F>);
}

template <bool Max, bool Nan, bool XorSign>
void addExtremum(Table &t, const std::string &suffix) {
  constexpr auto f = extremum<Max, Nan, XorSign>;
  std::string name = Max ? "fmax" : "fmin";
  for (const char *ftz : {"", ".ftz"}) {
    std::string full = name + ftz + suffix;
    t[full + ".f"] = *ftz ? address(ftz2<f>) : address(plain2<f>);
    t[full + ".f16"] = address(half2<halfToFloat, floatToHalf, f>);
    t[full + ".f16x2"] = address(pair2<halfToFloat, floatToHalf, f>);
    t[full + ".bf16"] = address(half2<bfloat, floatToBfloat, f>);
    t[full + ".bf16x2"] = address(pair2<bfloat, floatToBfloat, f>);
  }
}

template <typename R, typename T, int Mode>
void addConversion(Table &t, const std::string &name, const char *rounding) {
  t[name + "." + rounding] = address(convert<R, T, Mode>);
  t[name + "." + rounding + ".ftz"] = address(convert<R, T, Mode>);
}
template <typename R, typename T>
void addConversions(Table &t, const std::string &name) {
  addConversion<R, T, 0>(t, name, "rn");
  addConversion<R, T, 1>(t, name, "rz");
  addConversion<R, T, 2>(t, name, "rm");
  addConversion<R, T, 3>(t, name, "rp");
}

template <uint8_t (*F)(float), Element E>
void addFp8(Table &t, const std::string &type) {
  t["ff.to." + type + ".rn"] = address(narrowBytes<F>);
  t["ff.to." + type + ".rn.relu"] = address(narrowBytesRelu<F>);
  t["f16x2.to." + type + ".rn"] = address(narrowHalves<F>);
  t[type + ".to.f16x2.rn"] = address(widenBytes<E>);
}

void addConversions(Table &t) {
  addFp8<floatToE4M3, Element::E4M3>(t, "e4m3x2");
  addFp8<floatToE5M2, Element::E5M2>(t, "e5m2x2");
  t["ff.to.e2m1x2.rn.satfinite"] = address(narrowNibbles);
  t["e2m1x2.to.f16x2.rn"] = address(widenNibbles);
  t["e2m3x2.to.f16x2.rn"] = address(widenBytes<Element::E2M3>);
  t["e3m2x2.to.f16x2.rn"] = address(widenBytes<Element::E3M2>);
  t["ue8m0x2.to.bf16x2"] = address(widenScales);
  t["ff.to.ue8m0x2.rz"] = address(narrowScales<false, false>);
  t["ff.to.ue8m0x2.rz.satfinite"] = address(narrowScales<false, true>);
  t["ff.to.ue8m0x2.rp"] = address(narrowScales<true, false>);
  t["ff.to.ue8m0x2.rp.satfinite"] = address(narrowScales<true, true>);

  t["ff2bf16x2.rn"] = address(narrowPair<floatToBfloat>);
  t["ff2bf16x2.rn.relu"] = address(narrowPair<relu<floatToBfloat>>);
  t["ff2bf16x2.rn.satfinite"] = address(narrowPair<bfloatFinite>);
  t["ff2bf16x2.rz"] = address(narrowPair<bfloatToZero>);
  t["ff2f16x2.rn"] = address(narrowPair<floatToHalf>);
  t["ff2f16x2.rn.relu"] = address(narrowPair<relu<floatToHalf>>);
  t["ff2f16x2.rn.satfinite"] = address(narrowPair<halfFinite>);
  t["f2bf16.rn"] = address(narrow<floatToBfloat>);
  t["f2bf16.rn.relu"] = address(narrow<relu<floatToBfloat>>);
  t["f2bf16.rn.satfinite"] = address(narrow<bfloatFinite>);
  t["f2bf16.rz"] = address(narrow<bfloatToZero>);
  t["f2f16.rn"] = address(narrow<floatToHalf>);
  t["f2f16.rn.satfinite"] = address(narrow<halfFinite>);
  t["f2h.rn"] = address(narrow<floatToHalf>);

  addConversions<int32_t, float>(t, "f2i");
  addConversions<uint32_t, float>(t, "f2ui");
  addConversions<int64_t, float>(t, "f2ll");
  addConversions<uint64_t, float>(t, "f2ull");
  addConversions<int32_t, double>(t, "d2i");
  addConversions<uint32_t, double>(t, "d2ui");
  addConversions<int64_t, double>(t, "d2ll");
  addConversions<uint64_t, double>(t, "d2ull");
}

int32_t mulHigh(int32_t x, int32_t y) {
  return static_cast<int64_t>(x) * y >> 32;
}
uint32_t mulHighUnsigned(uint32_t x, uint32_t y) {
  return static_cast<uint64_t>(x) * y >> 32;
}
int32_t mul24(int32_t x, int32_t y) { return (x << 8 >> 8) * (y << 8 >> 8); }
uint32_t mul24Unsigned(uint32_t x, uint32_t y) {
  return (x & 0xffffff) * (y & 0xffffff);
}

void addIntegers(Table &t) {
  t["prmt"] = address(permuteBytes);
  t["prmt.f4e"] = address(permuteF4E<0>);
  t["prmt.b4e"] = address(permuteF4E<1>);
  t["prmt.rc8"] = address(permuteOne<0>);
  t["prmt.ecl"] = address(permuteOne<1>);
  t["prmt.ecr"] = address(permuteOne<2>);
  t["prmt.rc16"] = address(permuteOne<3>);
  t["mulhi.i"] = address(mulHigh);
  t["mulhi.ui"] = address(mulHighUnsigned);
  t["mul24.i"] = address(mul24);
  t["mul24.ui"] = address(mul24Unsigned);
}

Table makeTable() {
  Table t;
  add1<exp2Approx>(t, "ex2.approx", ".f");
  add1<log2Approx>(t, "lg2.approx", ".f");
  add1<tanhApprox>(t, "tanh.approx", ".f");
  add1<sine>(t, "sin.approx", ".f");
  add1<cosine>(t, "cos.approx", ".f");
  add1<reciprocal>(t, "rcp.rn", ".f");
  t["rcp.approx.ftz.f"] = address(ftz1<reciprocal>);
  add1<squareRoot>(t, "sqrt.rn", ".f");
  add1<squareRoot>(t, "sqrt.approx", ".f");
  t["sqrt.f"] = address(plain1<squareRoot>);
  add1<reciprocalRoot>(t, "rsqrt.approx", ".f");
  add1<magnitude>(t, "fabs", ".f");
  add1<roundEven>(t, "round", ".f");
  add1<floorOf>(t, "floor", ".f");
  add1<ceilOf>(t, "ceil", ".f");
  add1<truncOf>(t, "trunc", ".f");
  add1<saturate>(t, "saturate", ".f");
  add2<quotient>(t, "div.approx", ".f");
  add2<quotient>(t, "div.full", "");
  add2<quotient>(t, "div.rn", ".f");
  add2<sum>(t, "add.rn", ".f");
  add2<sumSaturated>(t, "add.rn", ".sat.f");
  add2<product>(t, "mul.rn", ".f");
  add3<fused>(t, "fma.rn", ".f");
  add3<fusedSaturated>(t, "fma.rn", ".sat.f");
  for (const char *ftz : {"", ".ftz"}) {
    std::string name = std::string("fma.rn") + ftz;
    t[name + ".f16"] = address(halfFma<halfToFloat, floatToHalf>);
    t[name + ".f16x2"] = address(pairFma<halfToFloat, floatToHalf>);
    t[name + ".bf16"] = address(halfFma<bfloat, floatToBfloat>);
    t[name + ".bf16x2"] = address(pairFma<bfloat, floatToBfloat>);
  }
  addExtremum<true, false, false>(t, "");
  addExtremum<false, false, false>(t, "");
  addExtremum<true, true, false>(t, ".nan");
  addExtremum<false, true, false>(t, ".nan");
  addExtremum<true, false, true>(t, ".xorsign.abs");
  addExtremum<false, false, true>(t, ".xorsign.abs");
  addExtremum<true, true, true>(t, ".nan.xorsign.abs");
  addExtremum<false, true, true>(t, ".nan.xorsign.abs");
  addConversions(t);
  addIntegers(t);
  return t;
}

} // namespace

const void *mlatile::sim::scalarFunction(llvm::StringRef name) {
  static const Table table = makeTable();
  return table.lookup(name);
}
