"""Other people's debate and evaluation tools, met half way: read their logs, lend them a stopping rule.

Who may live here: one file or folder per tool, each with its own extra; nothing else imports them.
"""
