// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix and movmatrix against formulas of the PTX ISA's figures.
#include "SimTest.h"
#include <functional>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

std::string structOf(int registers) {
  std::string text = "i32";
  for (int i = 1; i < registers; ++i)
    text += ", i32";
  return registers == 1 ? "i32" : "{" + text + "}";
}

/// Copies 32 rows of 16 bytes from %p0 to shared memory, lane by lane.
const char *const kFill =
    "  %r0 = mul i32 %lane, 48\n"
    "  %row = getelementptr i8, ptr addrspace(3) @smem, i32 %r0\n"
    "  %s0 = mul i32 %lane, 16\n"
    "  %src = getelementptr i8, ptr addrspace(1) %p0, i32 %s0\n"
    "  %v = load <4 x i32>, ptr addrspace(1) %src\n"
    "  store <4 x i32> %v, ptr addrspace(3) %row\n"
    "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

std::vector<uint8_t> randomRows() {
  Random random(11);
  std::vector<uint8_t> bytes(32 * 16);
  for (uint8_t &byte : bytes)
    byte = random.next() >> 7;
  return bytes;
}

std::vector<uint32_t> load(const std::string &form, int registers,
                           std::vector<uint8_t> &rows, std::string *error) {
  std::string name = "@llvm.nvvm.ldmatrix.sync.aligned." + form + ".p3";
  std::string type = structOf(registers);
  std::string body = std::string(kFill) + "  %x = call " + type + " " + name +
                     "(ptr addrspace(3) %row)\n";
  for (int r = 0; r < registers; ++r) {
    std::string id = std::to_string(r);
    std::string value = "%x";
    if (registers > 1) {
      body += "  %e" + id + " = extractvalue " + type + " %x, " + id + "\n";
      value = "%e" + id;
    }
    body += "  %o" + id + " = add i32 %lane, " + std::to_string(32 * r) +
            "\n  %h" + id +
            " = getelementptr i32, ptr addrspace(1) %p1, i32 %o" + id +
            "\n  store i32 " + value + ", ptr addrspace(1) %h" + id + "\n";
  }
  std::vector<uint32_t> out(registers * 32);
  Stats stats;
  *error = run(
      kernel(body, 2, "declare " + type + " " + name + "(ptr addrspace(3))"),
      32, {rows.data(), out.data()}, {}, {}, &stats);
  EXPECT_EQ(stats.ldmatrix, 1u);
  return out;
}

/// Compares byte (or half) `i` of register r with what `expected` says.
void expectRegisters(const std::vector<uint32_t> &out, int registers, int bits,
                     std::function<unsigned(int lane, int r, int i)> expected) {
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < registers; ++r)
      for (int i = 0; i < 32 / bits; ++i)
        EXPECT_EQ(out[r * 32 + lane] >> bits * i & ((1u << bits) - 1),
                  expected(lane, r, i))
            << "lane " << lane << " register " << r << " element " << i;
}

TEST(LdMatrix, B16) {
  std::vector<uint8_t> rows = randomRows();
  auto half = [&](int row, int i) -> unsigned {
    return rows[row * 16 + 2 * i] | rows[row * 16 + 2 * i + 1] << 8;
  };
  for (int n : {1, 2, 4})
    for (bool trans : {false, true}) {
      std::string error;
      auto out =
          load("m8n8.x" + std::to_string(n) + (trans ? ".trans" : "") + ".b16",
               n, rows, &error);
      ASSERT_EQ(error, "");
      expectRegisters(out, n, 16, [&](int lane, int r, int h) {
        int g = lane / 4, t = lane % 4;
        return trans ? half(8 * r + 2 * t + h, g) : half(8 * r + g, 2 * t + h);
      });
    }
}

TEST(LdMatrix, B8Transposed) {
  std::vector<uint8_t> rows = randomRows();
  for (int n : {1, 2}) {
    std::string error;
    auto out =
        load("m16n16.x" + std::to_string(n) + ".trans.b8", 2 * n, rows, &error);
    ASSERT_EQ(error, "");
    expectRegisters(out, 2 * n, 8, [&](int lane, int r, int b) -> unsigned {
      int row = 16 * (r / 2) + 4 * (lane % 4) + b;
      return rows[row * 16 + lane / 4 + 8 * (r % 2)];
    });
  }
}

TEST(LdMatrix, B4ToB8) {
  std::vector<uint8_t> rows = randomRows();
  for (int n : {1, 2, 4}) {
    std::string error;
    auto out = load("m8n16.x" + std::to_string(n) + ".b8x16.b4x16_p64", n, rows,
                    &error);
    ASSERT_EQ(error, "");
    expectRegisters(out, n, 8, [&](int lane, int r, int b) -> unsigned {
      int element = 4 * (lane % 4) + b;
      return rows[(8 * r + lane / 4) * 16 + element / 2] >> 4 * (element % 2) &
             15;
    });
  }
}

/// stmatrix of registers from %p0, then every row of shared memory to %p1.
std::vector<uint8_t> store(const std::string &form, int registers,
                           std::vector<uint32_t> &values, std::string *error) {
  std::string name = "@llvm.nvvm.stmatrix.sync.aligned." + form + ".p3";
  std::string types, args,
      body = "  %r0 = mul i32 %lane, 16\n"
             "  %row = getelementptr i8, ptr addrspace(3) @smem, i32 %r0\n"
             "  store <4 x i32> zeroinitializer, ptr addrspace(3) %row\n"
             "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  for (int r = 0; r < registers; ++r) {
    std::string id = std::to_string(r);
    body += "  %o" + id + " = add i32 %lane, " + std::to_string(32 * r) +
            "\n  %h" + id +
            " = getelementptr i32, ptr addrspace(1) %p0, i32 %o" + id +
            "\n  %v" + id + " = load i32, ptr addrspace(1) %h" + id + "\n";
    types += ", i32";
    args += ", i32 %v" + id;
  }
  body += "  call void " + name + "(ptr addrspace(3) %row" + args + ")\n" +
          "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
          "  %back = load <4 x i32>, ptr addrspace(3) %row\n"
          "  %dst = getelementptr i8, ptr addrspace(1) %p1, i32 %r0\n"
          "  store <4 x i32> %back, ptr addrspace(1) %dst\n";
  std::vector<uint8_t> out(32 * 16);
  *error =
      run(kernel(body, 2,
                 "declare void " + name + "(ptr addrspace(3)" + types + ")"),
          32, {values.data(), out.data()});
  return out;
}

TEST(StMatrix, AllForms) {
  Random random(5);
  for (int n : {1, 2, 4}) {
    std::vector<uint32_t> values(32 * n);
    for (uint32_t &value : values)
      value = random.next();
    for (int form = 0; form < 3; ++form) {
      const char *name = form == 0   ? "m8n8.x"
                         : form == 1 ? "m8n8.x"
                                     : "m16n8.x";
      std::string error;
      auto out = store(name + std::to_string(n) +
                           (form == 0   ? ".b16"
                            : form == 1 ? ".trans.b16"
                                        : ".trans.b8"),
                       n, values, &error);
      ASSERT_EQ(error, "");
      std::vector<uint8_t> expected(32 * 16);
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < n; ++r)
          for (int b = 0; b < 4; ++b) {
            int g = lane / 4, t = lane % 4;
            int row, column; // of a byte
            if (form == 2) {
              row = 8 * r + 2 * t + b % 2;
              column = g + 8 * (b / 2);
            } else if (form == 1) {
              row = 8 * r + 2 * t + b / 2;
              column = 2 * g + b % 2;
            } else {
              row = 8 * r + g;
              column = 4 * t + b;
            }
            expected[row * 16 + column] = values[r * 32 + lane] >> 8 * b;
          }
      EXPECT_EQ(out, expected) << "form " << form << " x" << n;
    }
  }
}

TEST(MovMatrix, Transposes) {
  std::vector<uint32_t> in(32), out(32);
  Random random(9);
  for (uint32_t &word : in)
    word = random.next();
  std::string body =
      "  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %lane\n"
      "  %x = load i32, ptr addrspace(1) %a\n"
      "  %y = call i32 asm \"movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;\", "
      "\"=r,r\"(i32 %x)\n"
      "  %d = getelementptr i32, ptr addrspace(1) %p1, i32 %lane\n"
      "  store i32 %y, ptr addrspace(1) %d\n";
  ASSERT_EQ(run(kernel(body, 2), 32, {in.data(), out.data()}), "");
  auto element = [](const std::vector<uint32_t> &m, int row, int column) {
    return m[row * 4 + column / 2] >> 16 * (column % 2) & 0xffff;
  };
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      EXPECT_EQ(element(out, row, column), element(in, column, row));
}

TEST(LdMatrix, BadAddressesAreErrors) {
  auto withAddress = [](const std::string &offset) {
    std::string body =
        "  %row = getelementptr i8, ptr addrspace(3) @smem, i32 " + offset +
        "\n  %x = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr "
        "addrspace(3) %row)\n  store i32 %x, ptr addrspace(1) %p0\n";
    return kernel(body, 1,
                  "declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3("
                  "ptr addrspace(3))");
  };
  uint32_t out;
  EXPECT_TRUE(
      contains(run(withAddress("8"), 32, {&out}), "not 16-byte aligned"));
  EXPECT_TRUE(contains(run(withAddress("4096"), 32, {&out}),
                       "outside shared memory: offset 4096 of 4096"));
  EXPECT_EQ(run(withAddress("4080"), 32, {&out}), "");
}

} // namespace
