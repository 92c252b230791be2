"""Room with a door: models on this machine, for embeddings in folders or ONNX files, and spaCy pipelines for names.

Others use the names here alone. Libraries of models are imported when one is loaded.
"""

from lightrag_dagster.models.local.embedder import open_local_embedder
from lightrag_dagster.models.local.identity import local_embedder_identity, local_tokens_read
from lightrag_dagster.models.local.pipelines import load_pipeline, pipeline_identity
