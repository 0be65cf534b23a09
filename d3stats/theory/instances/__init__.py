"""What claims are checked on: frozen values with a readable ``str``, and the strategies that make them.

Who may live here: instances, and constructions that give them a property; nothing is drawn and thrown away.
"""
