"""The waist: what a debate log is, and how one is written, read and examined.

Who may live here: record types, the JSONL, Parquet and CSV readers and writers, the doctor, and one importer
per foreign format. Nothing here fits a model or decides anything.
"""
