"""Measures of runs over all topics: trec_eval's through ir_measures, and answer accuracy as in DPR."""
