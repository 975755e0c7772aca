# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays as other libraries share them, made by hand: DLPack capsules of both
kinds, __cuda_array_interface__, and memory of the driver that stands in for a
card (test/unit/Runtime/FakeDriver.cpp)."""

import ctypes

import numpy as np

c = ctypes
INT, UINT, FLOAT, BFLOAT, FLOAT8 = 0, 1, 2, 4, 10
CPU, CUDA = 1, 2
READ_ONLY, IS_COPIED = 1, 2
CODES = {"bfloat16": (BFLOAT, 16), "float32": (FLOAT, 32), "float64": (FLOAT, 64), "int32": (INT, 32), "uint8": (UINT, 8)}
TYPESTRS = {"bfloat16": "<V2", "float32": "<f4", "float64": "<f8", "int32": "<i4", "uint8": "|u1"}


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
        ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64),
    ]


class Managed(c.Structure):
    _fields_ = [("tensor", Tensor), ("context", c.c_void_p), ("deleter", c.c_void_p)]


class Versioned(c.Structure):
    _fields_ = [
        ("major", c.c_uint32), ("minor", c.c_uint32), ("context", c.c_void_p), ("deleter", c.c_void_p),
        ("flags", c.c_uint64), ("tensor", Tensor),
    ]


_api = c.pythonapi
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
_name_of = _api.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c.c_char_p, [c.c_void_p]
_pointer_of = _api.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c.c_void_p, [c.c_void_p, c.c_char_p]

_kept = {}  # address of what a capsule holds -> what must live as long
freed = []  # names of capsules that were freed with their tensor in them


@c.CFUNCTYPE(None, c.c_void_p)
def _destroy(capsule):
    # A consumer that takes the tensor renames the capsule; then it frees it.
    name = _name_of(capsule)
    if name in (b"dltensor", b"dltensor_versioned"):
        _kept.pop(_pointer_of(capsule, name))
        freed.append(name.decode())


def capsule(
    address, shape, dtype, strides=None, *, device=(CPU, 0), offset=0, version=(1, 0), flags=0, lanes=1, owner=None,
):
    """version None: the capsule of DLPack before 1.0."""
    code, bits = CODES.get(dtype, (FLOAT8, 8))
    managed = Managed() if version is None else Versioned(major=version[0], minor=version[1], flags=flags)
    extents = (c.c_int64 * len(shape))(*shape)
    steps = None if strides is None else (c.c_int64 * len(shape))(*strides)
    managed.tensor = Tensor(
        address - offset, *device, len(shape), code, bits, lanes, extents, steps or c.POINTER(c.c_int64)(), offset
    )
    _kept[c.addressof(managed)] = managed, extents, steps, owner
    name = b"dltensor" if version is None else b"dltensor_versioned"
    _names.append(name)  # a capsule keeps the pointer to its name
    return _new(c.addressof(managed), name, c.cast(_destroy, c.c_void_p))


_names = []


class Shared:
    """A NumPy array that only DLPack shares. `asked` has the keywords of every export."""

    def __init__(self, array, *, compact=False, device=(CPU, 0), **options):
        self.array, self.options, self.device, self.asked = array, options, device, []
        self.strides = None if compact else [s // array.itemsize for s in array.strides]

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return capsule(
            self.array.ctypes.data, self.array.shape, self.array.dtype.name, self.strides, device=self.device,
            owner=self.array, **self.options,
        )


class Older(Shared):
    """Of a library that knows no keyword but the stream."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__()


# ---- the driver ---------------------------------------------------------------


class Card:
    """The driver, by ctypes; its streams run late, when somebody waits."""

    def __init__(self):
        self.cuda = c.CDLL("libcuda.so.1")
        self.use(0)

    def __call__(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        assert result == 0, f"{name}: {result}"

    def use(self, ordinal):
        context = c.c_void_p()
        self("cuDevicePrimaryCtxRetain", c.byref(context), ordinal)
        self("cuCtxSetCurrent", context)

    def count(self, what):
        return self.cuda.fake_driver_count(what.encode())

    def stream(self):
        handle = c.c_void_p()
        self("cuStreamCreate", c.byref(handle), 1)
        return handle.value

    def synchronize(self):
        self("cuCtxSynchronize")

    def capture(self, stream, work):
        """The graph of what `work` puts into the stream."""
        graph, executable = c.c_void_p(), c.c_void_p()
        self("cuStreamBeginCapture_v2", c.c_void_p(stream), 1)
        try:
            work()
        finally:
            self("cuStreamEndCapture", c.c_void_p(stream), c.byref(graph))
        self("cuGraphInstantiateWithFlags", c.byref(executable), graph, c.c_ulonglong(0))
        return executable

    def replay(self, graph, stream):
        self("cuGraphLaunch", graph, c.c_void_p(stream))
        self("cuStreamSynchronize", c.c_void_p(stream))


class DeviceArray:
    """A copy of a NumPy array on a device, shared in both ways."""

    def __init__(self, card, array, ordinal=0, typestr=None):
        self.card, self.shape, self.dtype, self.ordinal = card, array.shape, array.dtype, ordinal
        self.nbytes, self.asked = array.nbytes, []
        card.use(ordinal)
        pointer = c.c_uint64()
        card("cuMemAlloc_v2", c.byref(pointer), c.c_size_t(self.nbytes))
        card.use(0)
        self.pointer = pointer.value
        self.write(array)

    def write(self, array):
        array = np.ascontiguousarray(array)
        self.card.use(self.ordinal)
        self.card("cuMemcpyHtoD_v2", c.c_uint64(self.pointer), c.c_void_p(array.ctypes.data), c.c_size_t(self.nbytes))
        self.card.use(0)

    def read(self):
        array = np.empty(self.shape, self.dtype)
        self.card.use(self.ordinal)
        self.card("cuMemcpyDtoH_v2", c.c_void_p(array.ctypes.data), c.c_uint64(self.pointer), c.c_size_t(self.nbytes))
        self.card.use(0)
        return array

    def __dlpack_device__(self):
        return (CUDA, self.ordinal)

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return capsule(self.pointer, self.shape, self.dtype.name, device=(CUDA, self.ordinal), owner=self)

    def interface(self, **changes):
        return Interface(self, **changes)


class Interface:
    """A device array that only __cuda_array_interface__ shares; a change of None drops the entry."""

    def __init__(self, owner, **changes):
        self.owner = owner
        entries = dict(
            shape=owner.shape, typestr=TYPESTRS[owner.dtype.name], data=(owner.pointer, False), version=3, strides=None
        )
        self.__cuda_array_interface__ = {k: v for k, v in (entries | changes).items() if v is not None or k == "strides"}
