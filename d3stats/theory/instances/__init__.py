"""What claims are checked on: frozen values with a readable ``str``, their numbers, and the strategies that make them.

Who may live here: instances, the assumptions that several claims make of them, and strategies that give them a
property by construction; nothing is drawn and thrown away.
"""
