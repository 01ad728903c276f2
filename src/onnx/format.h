/* ONNX as protobuf: the numbers of onnx.proto that this folder reads and writes, as documented with the
 * format. */
#ifndef HRC_ONNX_FORMAT_H
#define HRC_ONNX_FORMAT_H

enum { WIRE_VARINT, WIRE_64, WIRE_BLOCK, WIRE_32 = 5 };

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_METADATA = 14 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15
};
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_STRING = 4,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
};
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
};
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1 };
enum { DIM_VALUE = 1, DIM_PARAMETER = 2 };

/* Element types of tensors, and kinds of attributes. */
enum { TYPE_FLOAT = 1, TYPE_INT64 = 7 };
enum { KIND_FLOAT = 1, KIND_INT = 2, KIND_STRING = 3, KIND_TENSOR = 4, KIND_INTS = 7 };

#endif
