"""Does it count? The rules of MLPerf: plans, bundles and checks for Endpoints, layouts and limits for Inference."""
