// SPDX-License-Identifier: Apache-2.0
// What the interpreter cannot do is an error with exit code 1, wrong usage has exit code 2.
// RUN: not %moe-interpret %s --entry @token 2>&1 | FileCheck %s --check-prefix=TOKEN
// RUN: not %moe-interpret %s --entry @expert 2>&1 | FileCheck %s --check-prefix=EXPERT
// RUN: not %moe-interpret %s --entry @call 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not %moe-interpret %s --entry @huge 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not %moe-interpret %s --entry @columns 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not %moe-interpret %s --entry @argument 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: not %moe-interpret %s --entry @nothing 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not %moe-interpret %s 2>&1 | FileCheck %s --check-prefix=CHOICE
// RUN: not %moe-interpret 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not %moe-interpret %s --ids 1,x 2>&1 | FileCheck %s --check-prefix=IDS
// RUN: not %moe-interpret %s --greedy -1 2>&1 | FileCheck %s --check-prefix=GREEDY
// RUN: not %moe-interpret %s --loud 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: %moe-interpret --help | FileCheck %s --check-prefix=HELP

// CHOICE: expects one function without arguments, but got @token and @expert; choose with --entry
// NOTHING: the module has no function @nothing
// FILE: expects a file, such as moe-interpret FILE.mlir
// IDS: --ids expects token ids from 0 separated by commas, such as 1,2,3, but got '1,x'
// GREEDY: --greedy expects a number from 0 to 1000000, but got '-1'
// FLAG: unknown flag --loud, expects --ids, --greedy, --logits, --experts-used, --entry, --check-hashes or --help
// HELP: examples:

// TOKEN: @token: 'moe.embed' op expects tokens from 0 to 1, but got 2
func.func @token() -> tensor<1x1xf32> {
  %tokens = arith.constant dense<2> : tensor<1xi32>
  %table = arith.constant dense<1.0> : tensor<2x1xf32>
  %y = moe.embed %tokens, %table : tensor<1xi32>, tensor<2x1xf32> -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// EXPERT: @expert: 'moe.experts' op expects ids from 0 to 0, but got -2
func.func @expert() -> tensor<1x1xf32> {
  %x = arith.constant dense<1.0> : tensor<1x1xf32>
  %w = arith.constant dense<1.0> : tensor<1x1x1xf32>
  %ids = arith.constant dense<-2> : tensor<1x1xi32>
  %y = moe.experts %x, %x, %ids, %w, %w, %w {glu = #moe.glu<swiglu>} : tensor<1x1xf32>, tensor<1x1xf32>,
    tensor<1x1xi32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32> -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// CALL: @call: 'func.call' op has no meaning in the interpreter
func.func @call() {
  call @call() : () -> ()
  return
}

// ARGUMENT: @argument expects 1 arguments, but got 0
func.func @argument(%x: index) -> index {
  return %x : index
}

// HUGE: @huge: 'arith.constant' op expects at most 2^26 values, but got 1099511627776
func.func @huge() -> tensor<1048576x1048576xf32> {
  %x = arith.constant dense<1.0> : tensor<1048576x1048576xf32>
  return %x : tensor<1048576x1048576xf32>
}

// COLUMNS: @columns: 'moe.rope' op expects columns in heads of 1024, but got tensor<1x0xf32>
func.func @columns() -> tensor<1x0xf32> {
  %p = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<1x0xf32>
  %y = moe.rope %x, %p {head_dim = 1024, dim = 1024, theta = 4.0 : f64} : tensor<1x0xf32>
  return %y : tensor<1x0xf32>
}
