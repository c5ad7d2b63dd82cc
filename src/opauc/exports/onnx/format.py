"""The format ONNX, without the package that writes it."""

from __future__ import annotations

from opauc.core.extras import needed
from opauc.exports.format import ExportFormat, ExportOptions
from opauc.exports.portable import PortableModel


def write_onnx(model: PortableModel, options: ExportOptions) -> bytes:
    """Return the content of an ONNX file of a model."""
    with needed("onnx", "onnx"):
        from opauc.exports.onnx.model import onnx_model
    content: bytes = onnx_model(model, options.reasons).SerializeToString()
    return content


ONNX = ExportFormat("onnx", (".onnx",), write_onnx, ("reasons",))
