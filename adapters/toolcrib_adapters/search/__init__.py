"""What indexes and encodes; the only package that imports FAISS, ONNX Runtime and tokenizers."""
