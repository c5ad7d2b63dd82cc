"""The format ONNX, without the package that writes it."""

from __future__ import annotations

from opauc.core.extras import needed
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.portable import PortableModel
from opauc.exports.portable_classes import PortableClasses


def write_onnx(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of an ONNX file of a model."""
    with needed("onnx", "onnx"):
        from opauc.exports.onnx.model import onnx_model
    content: bytes = onnx_model(model, options.reasons).SerializeToString()
    return content


def write_classes_onnx(model: PortableClasses, _options: ExportOptions) -> bytes:
    """Return the content of an ONNX file of a model of several classes."""
    with needed("onnx", "onnx"):
        from opauc.exports.onnx.classes import classes_onnx_model
    content: bytes = classes_onnx_model(model).SerializeToString()
    return content


ONNX = ExportFormat("onnx", (".onnx",), write_onnx, ("reasons",), write_classes=write_classes_onnx)
