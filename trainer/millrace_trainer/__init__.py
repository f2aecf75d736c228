"""A training service: PyTorch FSDP2, transformers and PEFT behind the HTTP interface that Millrace speaks."""
