// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host library: Problem -> Plan -> Kernel -> launch. See docs/HostApi.md.
#ifndef MLATILE_MLATILE_H
#define MLATILE_MLATILE_H

#include "mlatile/Runtime/Call.h"
#include "mlatile/Runtime/CostModel.h"
#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/CudaStream.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/KernelFolder.h"
#include "mlatile/Runtime/KernelSpec.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Runtime/Problem.h"
#include "mlatile/Runtime/Refinement.h"
#include "mlatile/Runtime/Tensor.h"
#include "mlatile/Target/Card.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Target/Target.h"

#endif
