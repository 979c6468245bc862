"""SIMD vectors of sixteen numbers for compiled kernels: a vector stays in registers from one operation to the next.

The compiler makes such vectors of plain loops too, but gives up where many sums are kept at once, and cannot keep them
from one loop to the next. Here the kernel says what it means; the machine's own vectors may be narrower or wider.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from nsed.kernels.numba.math import FACTORS

LANES = 16
NUMBER = ir.IntType(32)
FLAGS = ("contract", "nsz")
MACHINE_TYPES = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.uint32: NUMBER}


class Vector(types.Type):
    """Numba type of the SIMD vectors."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """Data model: the LLVM type of the SIMD vectors, as the compiler knows them."""

    def __init__(self, manager, vector):
        super().__init__(manager, vector, _machine_type(vector.dtype))


def _machine_type(dtype):
    return ir.VectorType(MACHINE_TYPES[dtype], LANES)


def _zero(vector):
    return ir.Constant(_machine_type(vector.dtype), None)


@intrinsic
def load(typing, array, row, column):
    """Vector load: the numbers of a row of a table from a column on."""

    def generate(context, builder, signature, arguments):
        place, size = _place(context, builder, signature, arguments)
        return builder.load(place, align=size)

    return Vector(array.dtype)(array, row, column), generate


@intrinsic
def store(typing, array, row, column, vector):
    """Vector store: put them there."""

    def generate(context, builder, signature, arguments):
        place, size = _place(context, builder, signature, arguments)
        builder.store(arguments[3], place, align=size)
        return context.get_dummy_value()

    return types.void(array, row, column, vector), generate


def _place(context, builder, signature, arguments):
    """Element pointer: the address, and the bytes of a number."""
    kind, *given = signature.args[:3]
    numbers = [context.cast(builder, *pair, types.intp) for pair in zip(arguments[1:3], given, strict=True)]
    array = context.make_array(kind)(context, builder, arguments[0])
    first = cgutils.get_item_pointer(context, builder, kind, array, numbers, wraparound=False)
    return builder.bitcast(first, _machine_type(kind.dtype).as_pointer()), kind.dtype.bitwidth // 8


def _spread(builder, number, vector):
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(NUMBER, 0))
    return builder.shuffle_vector(first, nothing, _numbers([0] * LANES))


def _numbers(numbers):
    return ir.Constant(ir.VectorType(NUMBER, len(numbers)), list(numbers))


@intrinsic
def spread(typing, number):
    """Broadcast: the same number everywhere."""

    def generate(context, builder, signature, arguments):
        return _spread(builder, arguments[0], _machine_type(number))

    return Vector(number)(number), generate


@intrinsic
def rectified(typing, vector):
    """ReLU: 0 where a number is negative; what is no number (NaN) stays so."""

    def generate(context, builder, signature, arguments):
        zero = _zero(vector)
        return builder.select(builder.fcmp_ordered(">", zero, arguments[0]), zero, arguments[0])

    return vector(vector), generate


@intrinsic
def where_positive(typing, condition, vector):
    """Select: the numbers where the condition's are positive, 0 elsewhere."""

    def generate(context, builder, signature, arguments):
        zero = _zero(condition)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), arguments[1], zero)

    return vector(condition, vector), generate


@intrinsic
def kept_at_random(typing, vector, places, cell, dropped):
    """Dropout: 0 where the random number of a place in a cell is below `dropped`: that of `random.number_of`."""

    def generate(context, builder, signature, arguments):
        kind = _machine_type(types.uint32)
        random = builder.xor(arguments[1], _spread(builder, arguments[2], kind))
        random = builder.mul(random, _numbers([FACTORS[0]] * LANES))
        random = builder.xor(random, builder.lshr(random, _numbers([15] * LANES)))
        random = builder.mul(random, _numbers([FACTORS[1]] * LANES))
        kept = builder.icmp_unsigned(">=", random, _spread(builder, arguments[3], kind))
        return builder.select(kept, arguments[0], _zero(vector))

    return vector(vector, places, types.uint32, types.uint32), generate


@intrinsic
def total(typing, vector):
    """Horizontal sum of the numbers: halves are added until one number is left."""

    def generate(context, builder, signature, arguments):
        (rest,), size = arguments, LANES
        while size > 1:
            nothing = ir.Constant(rest.type, ir.Undefined)
            halves = _numbers(range(size // 2)), _numbers(range(size // 2, size))
            rest = builder.fadd(*(builder.shuffle_vector(rest, nothing, half) for half in halves))
            size //= 2
        return builder.extract_element(rest, ir.Constant(NUMBER, 0))

    return vector.dtype(vector), generate


def _operation(name):
    @intrinsic
    def operation(typing, one, other):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments, flags=FLAGS)

        return one(one, other), generate

    return operation


def _overload(python, machine):
    """Operator overload for two vectors."""
    operation = _operation(machine)

    @overload(python, inline="always")
    def operator_for(one, other):
        def of_vectors(one, other):
            return operation(one, other)

        return of_vectors if isinstance(one, Vector) and isinstance(other, Vector) else None


_overload(operator.add, "fadd")
_overload(operator.sub, "fsub")
_overload(operator.mul, "fmul")
