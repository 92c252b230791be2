SELECT snapshot_id, published_at::VARCHAR AS published_at FROM snapshots ORDER BY sequence
